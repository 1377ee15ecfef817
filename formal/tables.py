def both(results): return []
