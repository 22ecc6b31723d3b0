"""Drawings of everything that a scene can hold, one text a noun; ``drawing`` explains their language."""

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
        polygon main 20 36 28 36 28 42 36 42 36 36 46 36 \
            46 42 54 42 54 36 64 36 64 42 72 42 72 36 80 36 80 50 20 50
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
