"""Removes declarations from a Swift interface, so that the rest can be compiled for another platform.

    interface.py INTERFACE [LINE...]   removes internal and private declarations and the declarations at these lines
    interface.py --log OUTPUT          does so for the first interface that an error of the compiler names
"""
import re
import sys

ATTRIBUTES = re.compile(r'^\s*(@\w+(\([^)]*\))?\s*)+$')
IMPORT = re.compile(r'^(@_exported )?import ')
INTERNAL = re.compile(
    r'^\s*((@\w+(\([^)]*\))?|final|override|static|class|indirect|nonisolated(\(unsafe\))?|weak|unowned(\(unsafe\))?|lazy'
    r'|required|convenience|mutating|nonmutating|dynamic|unsafe)\s+)*(private|fileprivate|internal)(\(set\))?\s')
ACCESSOR = re.compile(r'^(\}|(mutating |nonmutating )?(get|set|_modify|_read|unsafeAddress)\b.*)$')
HEAD = 5  # the first lines: format, compiler, flags


def balance(line):
    return line.count('{') - line.count('}')


def remove(lines, first, removed):
    """Marks the declaration that begins at a line, its body, and the lines with its attributes."""
    depth, line = 0, first
    while True:
        removed.add(line)
        depth += balance(lines[line])
        line += 1
        if depth <= 0 or line >= len(lines):
            break
    line = first - 1
    while line >= HEAD and ATTRIBUTES.match(lines[line]):
        removed.add(line)
        line -= 1


def declaration(lines, line):
    """Returns the line at which the declaration of this line begins: an accessor belongs to the declaration around it."""
    if not ACCESSOR.match(lines[line].strip()):
        return line
    depth = 0
    while line > 0 and depth >= 0:
        line -= 1
        depth -= balance(lines[line])
    return line


def is_internal(lines, line):
    text = lines[line]
    inlinable = '@usableFromInline' in text or (line > 0 and '@usableFromInline' in lines[line - 1])
    return INTERNAL.match(text) and '(set)' not in text and not inlinable


def clean(path, faults):
    with open(path) as file:
        lines = file.read().split('\n')
    removed = set()
    for line in range(HEAD, len(lines)):
        if line not in removed and is_internal(lines, line):
            remove(lines, line, removed)
    for line in faults:
        if HEAD <= line < len(lines) and line not in removed and not IMPORT.match(lines[line]):
            remove(lines, declaration(lines, line), removed)
    with open(path, 'w') as file:
        file.write('\n'.join(text for line, text in enumerate(lines) if line not in removed))


def clean_named(output):
    """Cleans the first interface that the compiler's errors name. Returns whether there was one.

    Modules that import a broken module get errors at arbitrary lines, so each round cleans one interface.
    """
    first, faults = None, set()
    with open(output, errors='replace') as file:
        for text in file:
            match = re.match(r'^(/\S+\.swiftinterface):(\d+):\d+: error: (?!failed to build module)', text)
            if match and match[1] == (first or match[1]):
                first = match[1]
                faults.add(int(match[2]) - 1)
    if first:
        clean(first, faults)
    return first is not None


if sys.argv[1] == '--log':
    sys.exit(0 if clean_named(sys.argv[2]) else 1)
clean(sys.argv[1], {int(line) - 1 for line in sys.argv[2:]})
