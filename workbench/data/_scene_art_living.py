"""Drawings of animals, plants and food; ``_scene_sprites`` explains the language."""

DRAWINGS: dict[str, str] = {
    "cat": """
        blob dark 62 96 92 92 99 66 92 48 82 50 84 66 82 78 62 84
        blob main 32 50 62 50 82 76 84 100 12 100 14 76
        blob light 34 60 60 60 64 92 48 98 32 92
        polygon main 8 42 9 1 42 22
        polygon main 86 42 85 1 52 22
        polygon rosy 14 28 15 11 31 22
        polygon rosy 80 28 79 11 63 22
        ellipse main 6 14 88 62
        ellipse light 32 40 62 60
        ellipse ink 24 30 34 43
        ellipse ink 60 30 70 43
        ellipse white 27 31 31 36
        ellipse white 63 31 67 36
        polygon rosy 42 43 52 43 47 49
        line ink 2 2 42 24 46
        line ink 2 2 52 24 50
        line ink 2 92 42 70 46
        line ink 2 92 52 70 50
        ellipse light 20 90 46 100
        ellipse light 50 90 76 100
    """,
    "dog": """
        blob main 2 20 12 24 18 48 26 54 12 62 4 46
        round dark 22 62 34 98 5
        round dark 54 62 66 98 5
        round main 10 42 74 78 18
        round main 12 60 25 100 6
        round main 62 60 75 100 6
        ellipse main 46 8 86 54
        round light 70 28 100 52 11
        ellipse ink 90 27 100 38
        blob dark 46 8 62 6 66 24 62 50 50 52 44 30
        ellipse ink 70 19 78 30
        ellipse white 73 20 76 24
        line ink 2 80 44 88 46 96 43
        polygon rosy 82 46 90 46 88 57 84 57
        line gold 5 52 55 62 58 72 55
    """,
    "rabbit": """
        ellipse white 76 74 100 92
        ellipse main 17 0 43 48
        ellipse main 53 0 79 48
        ellipse rosy 24 7 36 42
        ellipse rosy 60 7 72 42
        ellipse main 14 54 82 100
        ellipse light 30 64 66 98
        ellipse main 10 28 86 66
        ellipse ink 26 40 36 50
        ellipse ink 60 40 70 50
        ellipse white 29 41 33 45
        ellipse white 63 41 67 45
        polygon rosy 43 50 53 50 48 55
        round white 44 56 52 62 1
        ellipse light 8 91 42 100
        ellipse light 54 91 88 100
    """,
    "elephant": """
        line dark 5 6 44 1 56 3 70
        round dark 22 62 36 98 5
        round dark 44 62 58 98 5
        ellipse main 3 20 68 82
        round main 8 58 24 100 6
        round main 52 58 68 100 6
        blob main 76 30 96 34 100 60 98 92 90 98 83 90 89 84 87 62 78 60
        ellipse main 50 10 92 60
        blob dark 38 12 58 6 68 24 66 48 54 62 40 54 34 32
        blob white 76 52 84 54 88 64 96 66 84 74 76 64
        ellipse ink 76 26 82 34
        ellipse white 78 27 80 30
        line light 4 9 96 13 96
        line light 4 53 96 57 96
        line light 4 62 96 66 96
    """,
    "turtle": """
        polygon light 0 78 14 66 16 80
        round light 14 68 31 100 9
        round light 52 68 69 100 9
        blob light 66 60 74 36 86 28 100 34 100 52 92 58 84 64 80 82 64 82
        pie main 4 4 80 148 180 360
        round dark 2 70 82 80 5
        ellipse ink 88 36 92 44
        ellipse white 89 37 91 40
        line ink 2 91 53 96 51
    """,
    "bird": """
        polygon dark 0 46 28 54 28 74 4 64
        line gold 4 44 84 44 98 52 98
        line gold 4 56 84 56 98 64 98
        ellipse main 16 32 80 90
        ellipse light 38 54 76 88
        ellipse main 50 6 90 54
        polygon gold 86 22 100 31 86 40
        ellipse ink 70 20 78 31
        ellipse white 73 21 76 25
        blob dark 22 46 48 40 62 54 56 70 36 78 22 66
    """,
    "butterfly": """
        blob main 48 46 30 4 4 0 0 26 14 54 46 58
        blob main 52 46 70 4 96 0 100 26 86 54 54 58
        blob main 47 52 16 56 8 80 26 100 44 92 49 64
        blob main 53 52 84 56 92 80 74 100 56 92 51 64
        line dark 2 46 48 28 26
        line dark 2 54 48 72 26
        line dark 2 46 56 30 68
        line dark 2 54 56 70 68
        line ink 3 48 26 38 4
        line ink 3 52 26 62 4
        ellipse ink 34 1 40 7
        ellipse ink 60 1 66 7
        round ink 45 24 55 88 5
    """,
    "tree": """
        polygon wood 42 60 58 60 64 100 36 100
        line wood 5 50 76 30 58
        line wood 5 50 76 70 58
        ellipse main 18 0 82 48
        ellipse main 0 20 54 70
        ellipse main 46 20 100 70
        ellipse main 24 26 76 74
        arc dark 3 16 30 50 66 200 320
        arc dark 3 48 38 82 74 200 320
        arc dark 3 42 12 72 42 210 330
        arc light 4 26 6 60 36 180 270
        arc light 4 8 28 40 60 180 270
    """,
    "flower": """
        line leaf 7 50 50 50 99
        blob leaf 50 92 20 92 4 70 30 72 50 84
        blob leaf 50 84 80 82 98 62 70 64 50 76
        ellipse main 50 0 84 26
        ellipse main 16 0 50 26
        ellipse main 64 16 100 42
        ellipse main 0 16 36 42
        ellipse main 50 32 84 58
        ellipse main 16 32 50 58
        ellipse main 26 10 74 48
        line dark 3 50 29 50 2
        line dark 3 50 29 50 56
        line dark 3 50 29 98 16
        line dark 3 50 29 2 42
        line dark 3 50 29 98 42
        line dark 3 50 29 2 16
        ellipse gold 30 17 70 41
        ellipse wood 42 24 58 34
    """,
    "cactus": """
        round main 2 30 20 66 9
        round main 2 52 44 67 7
        round main 80 20 98 56 9
        round main 56 42 98 57 7
        round main 33 4 67 99 17
        ellipse rosy 38 0 52 9
        ellipse rosy 48 0 62 9
        ellipse gold 46 2 54 8
        line light 3 44 16 44 90
        line light 3 56 16 56 90
        line light 3 9 36 9 56
        line light 3 90 27 90 48
    """,
    "bush": """
        round wood 44 80 56 100 1
        ellipse main 0 40 40 96
        ellipse main 60 40 100 96
        ellipse main 10 14 50 74
        ellipse main 50 14 90 74
        ellipse main 30 0 70 62
        ellipse main 22 36 78 96
        arc dark 3 12 56 40 92 200 330
        arc dark 3 36 62 64 98 200 330
        arc dark 3 60 52 90 90 200 330
        arc dark 3 26 32 54 66 200 330
        arc dark 3 52 24 80 60 200 330
        arc light 4 36 6 62 38 190 280
        arc light 4 6 48 30 80 180 270
    """,
    "apple": """
        line wood 6 50 28 54 2
        blob leaf 54 14 70 0 94 4 80 20 62 20
        blob main 50 26 22 14 0 34 6 76 28 102 50 94 72 102 94 76 100 34 78 14
        arc dark 3 38 18 62 34 20 160
        arc light 5 12 32 50 78 180 250
    """,
    "banana": """
        blob main 2 10 12 8 20 38 46 60 78 52 92 22 90 8 98 6 102 22 98 66 66 98 36 96 8 66
        blob ink 1 6 12 4 14 16 2 18
        arc dark 4 4 -66 106 74 40 165
    """,
    "pear": """
        line wood 6 50 18 58 0
        blob leaf 56 10 74 0 96 6 80 18 64 18
        blob main 50 8 32 14 28 40 0 60 4 98 50 102 96 98 100 60 72 40 68 14
        arc light 5 14 52 60 92 150 230
    """,
    "carrot": """
        blob leaf 46 26 16 12 12 0 34 2 48 16
        blob leaf 54 26 84 12 88 0 66 2 52 16
        blob leaf 42 28 40 4 50 -4 60 4 58 28
        blob main 2 32 14 20 50 18 86 20 98 32 78 70 50 108 22 70
        line dark 3 12 42 40 44
        line dark 3 60 56 82 54
        line dark 3 26 66 50 68
        line dark 3 54 80 66 79
    """,
    "cake": """
        ellipse metal 0 84 100 100
        round main 8 40 92 94 8
        blob cream 6 36 50 28 94 36 94 58 84 64 76 50 64 66 52 52 40 66 28 50 16 64 6 58
        ellipse cream 8 28 92 50
        round rosy 28 12 34 38 2
        round sky 47 8 53 36 2
        round leaf 66 12 72 38 2
        ellipse gold 28 2 34 14
        ellipse gold 47 -2 53 10
        ellipse gold 66 2 72 14
    """,
}
