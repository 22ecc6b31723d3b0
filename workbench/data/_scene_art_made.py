"""Drawings of vehicles, buildings, toys, furniture and containers; ``_scene_sprites`` explains the language."""

DRAWINGS: dict[str, str] = {
    "car": """
        blob main 14 50 26 4 40 0 64 0 78 6 90 50
        round main 1 40 99 84 16
        polygon glass 25 42 33 14 48 14 48 42
        polygon glass 53 42 53 14 66 14 76 42
        line dark 3 50 44 50 80
        line ink 3 54 52 60 52
        ellipse gold 91 48 99 62
        ellipse berry 1 48 7 60
        ellipse ink 14 62 36 100
        ellipse metal 20 72 30 90
        ellipse ink 64 62 86 100
        ellipse metal 70 72 80 90
    """,
    "bus": """
        round main 1 3 99 88 12
        round glass 8 16 24 44 4
        round glass 28 16 44 44 4
        round glass 48 16 64 44 4
        round glass 70 14 93 80 4
        line ink 3 81 14 81 80
        polygon light 1 54 66 54 66 62 1 62
        ellipse gold 92 66 99 76
        ellipse ink 12 70 31 100
        ellipse metal 17 78 26 92
        ellipse ink 46 70 65 100
        ellipse metal 51 78 60 92
    """,
    "truck": """
        round main 1 0 64 80 5
        blob dark 64 28 64 18 86 18 92 40 100 52 100 84 64 84
        polygon glass 70 28 82 28 88 48 70 48
        round ink 1 76 99 84 3
        ellipse gold 94 58 100 70
        ellipse ink 8 66 28 100
        ellipse metal 13 75 23 91
        ellipse ink 34 66 54 100
        ellipse metal 39 75 49 91
        ellipse ink 74 66 94 100
        ellipse metal 79 75 89 91
    """,
    "boat": """
        line wood 5 8 4 8 60
        polygon berry 9 4 34 14 9 24
        ellipse dark 2 46 98 68
        front
        blob main 0 54 20 60 50 62 80 60 102 52 94 82 82 99 18 99 8 84
        line light 5 5 68 30 73 70 73 96 67
        ellipse light 44 78 56 94
        ellipse glass 46 80 54 91
    """,
    "airplane": """
        polygon dark 3 0 18 0 32 40 8 44
        blob main 2 38 40 30 78 30 96 40 100 52 92 66 60 72 20 64
        polygon dark 58 18 66 18 58 36 44 36
        polygon glass 80 34 92 40 94 48 78 46
        ellipse glass 24 42 31 54
        ellipse glass 36 41 43 53
        ellipse glass 48 41 55 53
        ellipse glass 60 41 67 53
        polygon dark 38 56 62 56 40 100 26 100
        polygon dark 4 46 22 48 12 66 4 66
    """,
    "rocket": """
        blob berry 30 84 70 84 74 92 50 104 26 92
        blob gold 38 84 62 84 62 92 50 100 38 92
        blob dark 24 48 2 66 0 90 30 80
        blob dark 76 48 98 66 100 90 70 80
        blob main 50 -6 80 20 90 56 74 88 26 88 10 56 20 20
        polygon dark 24 22 50 0 76 22
        ellipse metal 28 30 72 56
        ellipse glass 34 34 66 52
        round dark 44 64 56 92 4
    """,
    "house": """
        round wood 70 6 82 34 1
        round main 10 38 90 100 2
        polygon dark 0 46 50 0 100 46
        polygon light 50 0 50 6 8 46 0 46
        round white 18 54 42 78 2
        round glass 21 57 39 75 1
        line white 3 30 56 30 76
        line white 3 20 66 40 66
        round wood 56 58 78 100 3
        ellipse gold 71 78 76 83
        ellipse white 42 22 58 38
        ellipse glass 45 25 55 35
    """,
    "castle": """
        round main 20 46 80 100 1
        polygon main 20 36 28 36 28 42 36 42 36 36 46 36 46 42 54 42 54 36 64 36 64 42 72 42 72 36 80 36 80 50 20 50
        round main 2 30 28 100 1
        round main 72 30 98 100 1
        polygon dark 0 32 15 4 30 32
        polygon dark 70 32 85 4 100 32
        line ink 2 15 6 15 0
        line ink 2 85 6 85 0
        polygon berry 15 0 26 3 15 7
        polygon berry 85 0 96 3 85 7
        pie ink 37 60 63 90 180 360
        polygon ink 37 74 63 74 63 100 37 100
        line wood 3 44 64 44 100
        line wood 3 50 61 50 100
        line wood 3 56 64 56 100
        round ink 11 42 19 56 4
        round ink 81 42 89 56 4
        round gold 46 48 54 56 3
    """,
    "lighthouse": """
        polygon gold 30 10 70 10 70 26 30 26
        line ink 3 50 10 50 26
        polygon dark 22 11 50 0 78 11
        polygon main 26 28 74 28 94 98 6 98
        round ink 16 24 84 29 1
        round glass 42 38 58 46 4
        round glass 42 58 58 66 4
        round wood 36 80 64 98 4
        round metal 0 96 100 100 1
    """,
    "windmill": """
        polygon main 34 38 66 38 80 100 20 100
        pie dark 32 22 68 58 180 360
        round glass 44 54 56 64 3
        round wood 41 78 59 100 4
        polygon cream 46 34 20 0 2 10 42 38
        polygon cream 54 34 58 38 98 10 80 0
        polygon cream 42 36 2 62 20 72 46 40
        polygon cream 54 40 80 72 98 62 58 36
        line wood 4 10 4 90 68
        line wood 4 90 4 10 68
        ellipse ink 44 31 56 41
    """,
    "ball": """
        ellipse main 0 0 100 100
        polygon white 50 22 58 42 79 43 62 56 68 77 50 65 32 77 38 56 21 43 42 42
        arc light 5 10 10 90 90 190 250
    """,
    "kite": """
        line ink 2 50 70 44 80 56 90 46 100
        polygon gold 36 78 50 82 38 88
        polygon gold 62 84 48 88 60 94
        polygon main 50 0 98 30 50 74 2 30
        polygon dark 50 0 98 30 50 30
        polygon dark 50 30 2 30 50 74
        line light 3 50 0 50 74
        line light 3 2 30 98 30
    """,
    "balloon": """
        line ink 2 50 70 44 80 56 90 50 100
        polygon dark 38 74 62 74 50 60
        ellipse main 0 0 100 66
        blob main 6 44 50 72 94 44 50 40
        arc light 7 14 8 70 50 180 250
    """,
    "table": """
        round wood 10 30 18 100 2
        round wood 82 30 90 100 2
        round wood 26 30 32 88 2
        round wood 68 30 74 88 2
        polygon main 3 10 97 10 98 50 86 62 74 50 62 62 50 50 38 62 26 50 14 62 2 50
        ellipse light 2 0 98 22
    """,
    "chair": """
        round wood 8 56 18 100 3
        round wood 82 56 92 100 3
        round dark 22 56 30 90 3
        round dark 70 56 78 90 3
        round main 4 0 26 66 7
        round main 4 50 98 66 7
        line light 4 10 8 10 44
    """,
    "box": """
        polygon dark 14 18 86 18 96 44 4 44
        polygon light 14 20 0 4 -4 22 4 42
        polygon light 86 20 100 4 104 22 96 42
        front
        round main 4 38 96 100 3
        polygon cream 44 38 56 38 56 66 53 62 50 66 47 62 44 66
        line light 3 6 42 94 42
        line ink 3 72 86 86 86
        line ink 3 76 92 86 92
    """,
    "basket": """
        arc wood 8 12 2 88 94 180 360
        ellipse dark 2 38 98 58
        front
        polygon main 4 50 96 50 84 99 16 99
        round wood 0 44 100 56 5
        line light 2 12 72 88 72
        line light 2 15 86 85 86
        round wood 16 94 84 100 2
    """,
    "bucket": """
        arc metal 5 8 0 92 64 180 360
        ellipse dark 4 20 96 44
        front
        polygon main 4 32 96 32 80 96 20 96
        ellipse main 20 90 80 100
        pie main 4 22 96 44 0 180
        arc light 5 4 20 96 44 0 180
        line light 4 22 48 30 86
        ellipse metal 2 28 10 36
        ellipse metal 90 28 98 36
    """,
}
