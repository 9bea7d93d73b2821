"""Finds declarations of Swift and their uses, for `.ci/steps/edges`: a scanner, not a compiler.

A use is told by its name. A type, a function or a constant of a file's own module hides one of the modules that it imports. A
member after a dot counts only if all members of its name are declared in one folder, in an extension of another folder's type:
otherwise most names would be the standard library's. What a file declares by itself hides the same name elsewhere.
"""
import collections
import re

# Swift without comments and texts of strings

BREAK = re.compile(r'//[^\n]*|/\*|(#*)"(?:"(?=")")?')
BREAK_OR_PARENTHESIS = re.compile(BREAK.pattern + "|[()]")
COMMENT = re.compile(r"/\*|\*/")
ends = {}


def end_of_string(hashes, quotes):
    key = hashes + quotes
    if key not in ends:
        ends[key] = re.compile(rf'\\{hashes}(\(|.)|{quotes}{hashes}', re.DOTALL)
    return ends[key]


def skip_code(text, at, out, nested):
    """Copies code to `out`, without comments and texts; ends behind the parenthesis that closes an interpolation."""
    pattern, depth = (BREAK_OR_PARENTHESIS, 1) if nested else (BREAK, 0)
    while match := pattern.search(text, at):
        start, token = match.start(), match.group()
        out.append(text[at:start])
        at = match.end()
        if token == "(" or token == ")":
            out.append(token)
            depth += 1 if token == "(" else -1
            if depth == 0:
                return at
        elif token.startswith("//"):
            pass
        elif token == "/*":
            level = 1
            while level:
                match = COMMENT.search(text, at)
                if not match:
                    raise ValueError("a comment has no end")
                level += 1 if match.group() == "/*" else -1
                at = match.end()
            out.append(" " + "\n" * text.count("\n", start, at))
        else:
            at = skip_string(text, at, out, match.group(1) or "", token.lstrip("#"))
    if nested:
        raise ValueError("an interpolation has no end")
    out.append(text[at:])
    return len(text)


def skip_string(text, at, out, hashes, quotes):
    pattern = end_of_string(hashes, quotes)
    start = at
    while match := pattern.search(text, at):
        at = match.end()
        if match.group(1) == "(":
            out.append(re.sub(r"[^\n]*\S[^\n]*", '""', text[start:match.start()]) + "(")
            at = start = skip_code(text, at, out, nested=True)
        elif match.group(1) is None:
            out.append(re.sub(r"[^\n]*\S[^\n]*", '""', text[start:match.start()]) + '""')
            return at
    raise ValueError("a string has no end")


def code_of(text):
    out = []
    skip_code(text, 0, out, nested=False)
    return "".join(out)


# Declarations and uses

TOKEN = re.compile(r"`\w+`|[A-Za-z_]\w*|[^\s\w]")
NAME = re.compile(r"[A-Za-z_`]")
TYPES = {"struct", "class", "enum", "protocol", "actor", "extension"}
ACCESS = {"private", "fileprivate", "public", "package", "open", "internal"}
NOT_TYPE_NAMES = {"func", "var", "let", "subscript", "init", "static", "override", "final", "private", "public", "package"}
OPENING = set("([{,:=&|;")
KEYWORDS = set("""
    any as async await break case catch class continue convenience defer deinit do else enum extension fallthrough false
    fileprivate final for func get guard if import in indirect init inout internal is isolated lazy let mutating nil nonisolated
    nonmutating open override package precedencegroup private protocol public repeat required rethrows return self Self
    sending set some static struct subscript super switch throw throws true try typealias unowned var weak where while actor
    associatedtype each consuming borrowing _ available unavailable escaping Sendable
""".split())


class Declaration:
    """The file and the access of a declaration; for a member of an extension also the extended type."""
    __slots__ = ("file", "access", "extends", "is_static")

    def __init__(self, file, access, extends=None, is_static=False):
        self.file, self.access, self.extends, self.is_static = file, access, extends, is_static

    def is_visible(self, file, reach):
        if self.access == "private":
            return self.file is file
        module = self.file.module
        return module == file.module or (self.access != "internal" and module in reach)


class Scope:
    """Code between two braces: the body of a type or of an extension, or other code."""
    __slots__ = ("kind", "outer", "access", "extends")

    def __init__(self, kind, outer, access, extends=False):
        self.kind, self.outer, self.access, self.extends = kind, outer, access, extends


class File:
    """The declarations and uses of one file. `outer` is the outermost type around a place, if there is one."""

    def __init__(self, path, text, modules):
        self.path = path
        parts = path.split("/")
        self.module, self.folder = parts[1], "/".join(parts[1:-1])
        self.imports = {}
        self.tops = []  # (name, access)
        self.nested = set()  # (outer, name of a type)
        self.members = []  # (outer, name, access, is declared in an extension, is static)
        self.locals = set()  # variables, parameters, labels, generic parameters
        self.names = {}  # (name, outer): the line of the first use that has no value or type before it
        self.dots = {}  # (name, has nothing before its dot): the line of the first use
        tokens, at = [], []
        code = code_of(text).split("\n")
        self.lines = 0
        for number, line in enumerate(code, 1):
            found = TOKEN.findall(line)
            if found:
                self.lines += 1
                tokens += found
                at += [number] * len(found)
        self.parse(["", "", ""] + tokens + [""] * 4, [0] * 3 + at + [0] * 4, modules)

    def parse(self, tokens, lines, modules):
        scopes = [Scope("file", None, None)]
        pending = access = None
        at = 2
        end = len(tokens) - 4
        while at + 1 < end:
            at += 1
            token = tokens[at]
            if token == "{":
                scopes.append(pending or Scope("code", scopes[-1].outer, "private"))
                pending = access = None
                self.find_closure_parameters(tokens, at + 1)
            elif token == "}":
                scopes.pop()
                access = None
                if not scopes:
                    raise ValueError(f"{self.path}:{lines[at]}: this brace closes nothing")
            if not NAME.match(token):
                continue
            scope, after = scopes[-1], tokens[at + 1]
            if tokens[at - 1] == ".":
                base = tokens[at - 2]
                if base in modules or (base == "self" and tokens[at - 3] != "."):
                    self.names.setdefault((token.strip("`"), scope.outer), lines[at])
                else:
                    bare = base in OPENING or base in KEYWORDS
                    self.dots.setdefault((token.strip("`"), bare), lines[at])
            elif token in TYPES and NAME.match(after) and after not in NOT_TYPE_NAMES and (
                    token != "actor" or tokens[at + 2] in "{:<"):
                pending = self.type(token, tokens, at, scope, access, modules)
                access = None
                at += token != "extension"
            elif token in ("func", "typealias", "associatedtype"):
                self.declare(token, after, scope, access, "static" in tokens[at - 3:at])
                self.find_generic_parameters(tokens, at + 2)
                access = None
                at += 1
            elif token in ("var", "let"):
                if NAME.match(after):
                    self.declare(token, after, scope, access, "static" in tokens[at - 3:at])
                    at += 1
                else:  # a tuple
                    while tokens[at] not in (")", "=", ""):
                        at += 1
                        self.locals.add(tokens[at])
                access = None
            elif token == "case" and scope.kind == "type":
                at = self.cases(tokens, at, scope)
                access = None
            elif token in ACCESS and after != ":":
                if not (after == "(" and tokens[at + 2] == "set"):
                    access = token
            elif token == "import" and scope.kind == "file":
                self.imports.setdefault(tokens[at + 1], lines[at])
                at += 1
            elif token not in KEYWORDS:
                name = token.strip("`")
                if after == ":" and not name[0].isupper():
                    self.locals.add(name)
                elif NAME.match(after) and tokens[at + 2] == ":" and tokens[at - 1] in "(,":
                    self.locals.add(name)  # a label
                elif tokens[at - 1] == "for":
                    self.locals.add(name)
                else:
                    self.names.setdefault((name, scope.outer), lines[at])
        if len(scopes) != 1:
            raise ValueError(f"{self.path}: a brace has no end")

    def type(self, keyword, tokens, at, scope, access, modules):
        name = tokens[at + 1].strip("`")
        if keyword != "extension":
            self.declare(keyword, name, scope, access)
        elif name in modules and tokens[at + 2] == ".":
            name = tokens[at + 3]
        self.find_generic_parameters(tokens, at + 2)
        # A member of a protocol or of an extension has the access that these have, if it does not say another.
        inherited = "private" if scope.access == "private" or access in ("private", "fileprivate") else (
            access if keyword in ("protocol", "extension") else None)
        return Scope("type", scope.outer or name, inherited, keyword == "extension")

    def declare(self, keyword, name, scope, access, is_static=False):
        name = name.strip("`")
        if access in ("private", "fileprivate") or scope.access == "private":
            access = "private"
        else:
            access = access or scope.access or "internal"
        if scope.kind == "file":
            self.tops.append((name, access))
        elif keyword in TYPES or keyword in ("typealias", "associatedtype"):
            if scope.outer:
                self.nested.add((scope.outer, name))
            else:
                self.locals.add(name)
        elif scope.kind == "type":
            self.members.append((scope.outer, name, access, scope.extends, is_static))
        else:
            self.locals.add(name)

    def cases(self, tokens, at, scope):
        while NAME.match(tokens[at + 1]):
            access = "private" if scope.access == "private" else "public"
            self.members.append((scope.outer, tokens[at + 1].strip("`"), access, False, True))
            if tokens[at + 2] != ",":
                return at + 1
            at += 2
        return at

    def find_generic_parameters(self, tokens, at):
        if tokens[at] != "<":
            return
        while tokens[at] not in (">", "{", ""):
            if tokens[at] in "<," and NAME.match(tokens[at + 1]):
                self.locals.add(tokens[at + 1] if tokens[at + 1] != "each" else tokens[at + 2])
            at += 1

    def find_closure_parameters(self, tokens, at):
        names = []
        while NAME.match(tokens[at]) and tokens[at] not in KEYWORDS:
            names.append(tokens[at])
            if tokens[at + 1] == "in":
                self.locals.update(names)
            if tokens[at + 1] != ",":
                return
            at += 2


class Sources:
    """All files, and the uses behind each edge."""

    def __init__(self, texts):
        modules = {path.split("/")[1] for path in texts}
        self.files = [File(path, text, modules) for path, text in sorted(texts.items()) if path.endswith(".swift")]
        self.modules = modules
        self.uses = collections.defaultdict(lambda: collections.defaultdict(list))  # (from, to): name: places
        self.reach = self.find_reach()
        self.tops = collections.defaultdict(list)
        self.nested = set()
        self.members = collections.defaultdict(list)
        self.members_of = collections.defaultdict(list)
        for file in self.files:
            self.nested |= file.nested
            for name, access in file.tops:
                self.tops[name].append(Declaration(file, access))
            for outer, name, access, extends, is_static in file.members:
                declaration = Declaration(file, access, outer if extends else None, is_static)
                self.members[name].append(declaration)
                self.members_of[outer, name].append(declaration)
        # A member that is used where none of this name can be seen is another library's too.
        foreign = {name for file in self.files for name, _ in file.dots if name in self.members and not self.visible(
            self.members[name], file)}
        for file in self.files:
            self.resolve(file, foreign)

    def find_reach(self):
        """The modules that a module's files see: those that it imports, and those that these import."""
        direct = collections.defaultdict(set)
        for file in self.files:
            direct[file.module] |= file.imports.keys() & self.modules
        reach = {}
        for module in self.modules:
            seen, left = set(), [module]
            while left:
                for other in direct[left.pop()] - seen:
                    seen.add(other)
                    left.append(other)
            reach[module] = seen
        return reach

    def visible(self, declarations, file):
        return [one for one in declarations if one.is_visible(file, self.reach[file.module])]

    def resolve(self, file, foreign):
        for name, line in file.imports.items():
            if name in self.modules and name != file.module:
                self.uses[file.folder, name]["import"].append((file.path, line))
        for (name, outer), line in file.names.items():
            if name in file.locals or (outer, name) in self.nested:
                continue
            found = self.visible(self.members_of.get((outer, name), ()), file) or self.visible(self.tops.get(name, ()), file)
            self.add(file, name, line, found)
        for (name, bare), line in file.dots.items():
            if name not in foreign:
                found = self.visible(self.members.get(name, ()), file)
                if not bare or all(one.is_static for one in found):
                    if all(self.is_foreign_extension(one) for one in found):
                        self.add(file, "." + name, line, found)

    def is_foreign_extension(self, member):
        return member.extends and all(one.file.folder != member.file.folder for one in self.tops.get(member.extends, ()))

    def add(self, file, name, line, declarations):
        own = [one for one in declarations if one.file.module == file.module]
        folders = {one.file.folder for one in own} or {one.file.module for one in declarations}
        if len(folders) == 1 and file.folder not in folders:
            self.uses[file.folder, *folders][name].append((file.path, line))
