"""How strongly each atom of a text speaks to a question: by what stands in it, near it, and in the headings above it.

Guarantees strengths that depend on the atoms, the landmarks and the question only.
Leaves to the windows which atoms make a passage together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from overspill.core.strategies.views.atoms import Atom
from overspill.core.strategies.views.landmarks import Landmark
from overspill.core.strategies.views.query_terms import Query

FADE = 0.86
"""What a hit is worth one atom further on."""
DEFINED = 1.5
"""How much more the line that defines a name says about it than one that uses it."""
INHERITED = 0.75
"""What a heading that speaks to the question is worth to the lines right under it."""


def strengths_of(
    atoms: Sequence[Atom],
    worth: Sequence[float],
    query: Query,
    landmarks: Sequence[Landmark],
    *,
    reach: int,
    lasting: float,
    force_of: Callable[[bytes], float] | None = None,
    defines: Callable[[bytes], bytes] | None = None,
) -> list[dict[int, float]]:
    """For each atom the terms that speak there and how strongly: by hit, by nearness, by heading."""
    strengths: list[dict[int, float]] = [{} for _ in atoms]
    best = max(worth, default=0.0)
    telling = [value > 0.12 * best for value in worth]
    sections = [landmark for landmark in landmarks if landmark.level]
    section_starts = {section.start for section in sections}
    for index, atom in enumerate(atoms):
        terms = [term for term in atom.terms if telling[term]]
        if not terms:
            continue
        force = 1.35 if atom.span.start in section_starts else 1.0
        if force_of is not None:
            force *= force_of(atom.span.data)
        defined = defines(atom.span.data) if defines else b""
        for term in terms:
            told = force * (DEFINED if defined and _names(defined, query.terms[term].text) else 1.0)
            _spread(strengths, atoms, index, term, told, reach=reach)
    _inherit(strengths, atoms, query, sections, telling, lasting)
    return strengths


def _inherit(
    strengths: list[dict[int, float]],
    atoms: Sequence[Atom],
    query: Query,
    sections: Sequence[Landmark],
    telling: Sequence[bool],
    lasting: float,
) -> None:
    """Lines under a heading that speaks to the question speak to it as well, the first ones most."""
    open_terms: list[tuple[int, int, list[int]]] = []
    at = 0
    for index, atom in enumerate(atoms):
        while at < len(sections) and sections[at].start <= atom.span.start:
            section = sections[at]
            while open_terms and open_terms[-1][0] >= section.level:
                open_terms.pop()
            mask = query.mask(section.label.encode())
            terms = [term for term in range(len(telling)) if mask >> term & 1 and telling[term]]
            open_terms.append((section.level, section.line, terms))
            at += 1
        for _, line, terms in open_terms:
            if terms:
                force = INHERITED * lasting ** min(1_000, atom.span.line - line)
                here = strengths[index]
                for term in terms:
                    if here.get(term, 0.0) < force:
                        here[term] = force


def _names(defined: bytes, asked: str) -> bool:
    """Whether a name is the one that is asked for, or holds it as some of its words."""
    text = asked.encode()
    return text == defined or (text in defined and (b"_" in text or b"-" in text))


def _spread(
    strengths: list[dict[int, float]], atoms: Sequence[Atom], index: int, term: int, force: float, *, reach: int
) -> None:
    """Notes a hit at its atom and, fading, at the atoms around it that hang together with it."""
    if strengths[index].get(term, 0.0) < force:
        strengths[index][term] = force
    for step in (1, -1):
        here, value = index, force
        for _ in range(reach):
            there = here + step
            if not 0 <= there < len(atoms):
                break
            left, right = (here, there) if step > 0 else (there, here)
            if atoms[left].span.end != atoms[right].span.start:
                break
            value *= FADE
            if strengths[there].get(term, 0.0) >= value:
                break
            strengths[there][term] = value
            here = there
