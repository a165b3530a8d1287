class Found:
    def __init__(s, r):
        s.results = r


def findings_of(f):
    return ()


def tables_of(f):
    return {}
