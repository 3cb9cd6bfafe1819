"""What a plan leaves of the room for VMs expected later."""

from __future__ import annotations

from vplacer.constraints.state import State
from vplacer.plan.model import FutureRoom
from vplacer.request.future import future_mix
from vplacer.solver.future.shapes import left_out, mix_shapes
from vplacer.solver.room_measure import room_for_mix


def future_room(state: State) -> tuple[FutureRoom, ...]:
    """Return how many VMs of each shape of the mix fit today and after the plan, in the order of the mix."""
    problem = state.problem
    shares = {shape.name: shape.share for shape in future_mix(problem.request)}
    before, after = room_for_mix(State(problem, ())), room_for_mix(state)
    return tuple(
        FutureRoom(
            name=shape.name,
            stated=bool(problem.request.future),
            share=shares[shape.name],
            points=shape.points,
            before=before[shape.name],
            after=after[shape.name],
        )
        for shape in mix_shapes(problem)
    )


def future_notes(state: State) -> tuple[str, ...]:
    """Return what the user should know of the mix that is counted with."""
    names = left_out(state.problem)
    if not names or not state.problem.request.future:
        return ()
    return (f"not counted in the room for later, since they are the smallest part of it: {', '.join(names)}",)
