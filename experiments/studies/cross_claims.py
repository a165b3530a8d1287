def claims_of(f):
    return []
