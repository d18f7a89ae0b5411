"""import nothing"""
import os, sys as system
import a.b.c

def f():
    import inner  # not "import" that
