"""Small faults in Python, one at a time: what a reviewer could overlook and a test should not.

Left alone are docstrings, annotations, decorators, asserts (they speak to the type checker) and everything inside a
`raise`, which is message text; so are texts with a space in them.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
DROPPED = ("sqrt", "abs", "log", "exp", "ceil", "rint", "sorted", "hypot")  # the call is replaced by its argument
OFF = 0.05  # the error of scale that tests of noise must notice


@dataclass(frozen=True)
class Mutant:
    """A module with one fault.

    place: function or class. before, after: what was changed, as code. nth: among equal changes of the place.
    """

    place: str
    line: int
    before: str
    after: str
    nth: int
    source: str

    @property
    def change(self) -> str:
        """The fault in one line; with the place and the number it names the mutant."""
        return f"{self.before}  →  {self.after}"


def mutants(source: str, skip: frozenset[str] = frozenset()) -> Iterator[Mutant]:
    """Every mutant of a module.

    skip: names of functions, classes and constants that are left alone.
    """
    seen: dict[tuple[str, str], int] = {}
    for number, (place, line, before, after) in enumerate(_Mutator(skip).found(source)):
        mutator = _Mutator(skip, target=number)
        mutated = ast.unparse(ast.fix_missing_locations(mutator.visit(ast.parse(source))))
        nth = seen[place, f"{before}{after}"] = seen.get((place, f"{before}{after}"), 0) + 1
        yield Mutant(place, line, before, after, nth, mutated)


def unchanged(source: str) -> str:
    """The module as it is written when nothing is changed: tests must pass on this one."""
    return ast.unparse(ast.parse(source))


class _Mutator(ast.NodeTransformer):
    """Counts all places where something could be changed, and changes the one with the number `target`."""

    def __init__(self, skip: frozenset[str], target: int | None = None) -> None:
        self._skip, self._target = skip, target
        self._options: list[tuple[str, int, str, str]] = []
        self._place: list[str] = []

    def found(self, source: str) -> list[tuple[str, int, str, str]]:
        """(place, line, before, after) of every change, by number."""
        self.visit(ast.parse(source))
        return self._options

    def _offer(self, node: ast.AST, *others: ast.AST) -> ast.AST:
        """The node, or the one of the others whose turn it is."""
        before, chosen = _short(node), node
        for other in others:
            if len(self._options) == self._target:
                chosen = ast.copy_location(other, node)
            place = ".".join(self._place) or "module"
            self._options.append((place, getattr(node, "lineno", 0), before, _short(other)))
        return chosen

    # --- what is left alone ----------------------------------------------------------------------------------

    def _named(self, node: ast.AST) -> ast.AST:
        if node.name in self._skip:
            return node
        self._place.append(node.name)
        for name in ("args", "body", "bases", "keywords"):
            if hasattr(node, name):
                setattr(node, name, self._visited(getattr(node, name)))
        self._place.pop()
        return node

    visit_FunctionDef = visit_ClassDef = _named  # noqa: N815  # names of ast

    def _visited(self, value):
        if isinstance(value, ast.AST):
            return self.visit(value)
        return [self.visit(part) for part in value]

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        node.defaults = self._visited(node.defaults)
        node.kw_defaults = [default and self.visit(default) for default in node.kw_defaults]
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    visit_Import = visit_ImportFrom = visit_JoinedStr = visit_Assert  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if isinstance(node.target, ast.Name) and node.target.id in self._skip:
            return node
        node.value = node.value and self.visit(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if any(isinstance(part, ast.Name) and part.id in self._skip for part in ast.walk(node.targets[0])):
            return node
        node.value = self.visit(node.value)
        return node

    # --- statements ------------------------------------------------------------------------------------------

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return self._offer(node, ast.Pass())

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return self._offer(node, ast.Pass())

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            return self._offer(node, ast.Pass())
        node = self.generic_visit(node)
        return self._offer(node, ast.Return(ast.Constant(None)))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):  # a docstring, or the dots of a protocol
            return node
        node = self.generic_visit(node)
        return self._offer(node, ast.Pass()) if isinstance(node.value, ast.Call) else node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self._offer(node.test, ast.Constant(True), ast.Constant(False))
        return self.generic_visit(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self._offer(node.test, ast.Constant(False))
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        node = self.generic_visit(node)
        return self._offer(node, ast.Assign([node.target], node.value), ast.Pass())

    # --- expressions -----------------------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if isinstance(value, bool):
            return self._offer(node, ast.Constant(not value))
        if isinstance(value, int):
            return self._offer(node, ast.Constant(value + 1), ast.Constant(value - 1))
        if isinstance(value, float):
            others = [value * (1 + OFF), value * (1 - OFF)] if value else [1.0]
            return self._offer(node, *map(ast.Constant, others))
        if isinstance(value, str) and value and " " not in value:
            return self._offer(node, ast.Constant(f"{value}_"))
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        node = self.generic_visit(node)
        others = []
        for position, operator in enumerate(node.ops):
            for kind in COMPARISONS[type(operator)]:
                operators = [kind() if i == position else each for i, each in enumerate(node.ops)]
                others.append(ast.Compare(node.left, operators, node.comparators))
        return self._offer(node, *others)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        node = self.generic_visit(node)
        other = ARITHMETIC.get(type(node.op))
        return self._offer(node, ast.BinOp(node.left, other(), node.right)) if other else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node = self.generic_visit(node)
        swapped = ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        fewer = [[other for other in node.values if other is not value] for value in node.values]
        return self._offer(node, swapped, *(v[0] if len(v) == 1 else ast.BoolOp(node.op, v) for v in fewer))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node = self.generic_visit(node)
        return self._offer(node, node.operand)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node = self.generic_visit(node)
        return self._offer(node, node.body, node.orelse)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node = self.generic_visit(node)
        if node.ifs:
            node.ifs = [self._offer(test, ast.Constant(True)) for test in node.ifs]
        return node

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        node = self.generic_visit(node)
        without_lower = [ast.Slice(None, node.upper, node.step)] if node.lower else []
        without_upper = [ast.Slice(node.lower, None, node.step)] if node.upper else []
        return self._offer(node, *without_lower, *without_upper)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node = self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        others: list[ast.AST] = []
        if name in SWAPPED:
            renamed = SWAPPED[name]
            is_method = isinstance(node.func, ast.Attribute)
            func = ast.Attribute(node.func.value, renamed, ast.Load()) if is_method else ast.Name(renamed, ast.Load())
            others.append(ast.Call(func, node.args, node.keywords))
        if name in DROPPED and len(node.args) >= 1:
            others.append(node.args[0])
        if len(node.args) >= 2 and not any(isinstance(arg, ast.Starred) for arg in node.args[:2]):
            first, second, *rest = node.args
            if name not in ("isinstance", "getattr", "zip", *SWAPPED):
                others.append(ast.Call(node.func, [second, first, *rest], node.keywords))
        fewer = [[k for k in node.keywords if k is not keyword] for keyword in node.keywords if keyword.arg]
        others += [ast.Call(node.func, node.args, keywords) for keywords in fewer]
        return self._offer(node, *others)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
    return text if len(text) <= 110 else f"{text[:107]}..."
