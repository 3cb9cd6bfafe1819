"""Doing one thing for many objects, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_bounded(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    *,
    workers: int,
    done: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Return the result of the work for each item, in the order of the items.

    The first exception (Ctrl-C too) ends it: what has not begun is dropped, what runs is waited for.

    Args:
        items: what to work on.
        work: called once for each.
        workers: how many at a time; 1 = in this thread, as recording needs it.
        done: told after each item how many are done, and of how many.
    """
    if workers <= 1 or len(items) <= 1:
        results = []
        for number, item in enumerate(items, start=1):
            results.append(work(item))
            if done is not None:
                done(number, len(items))
        return results
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="vcenter") as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for number, future in enumerate(as_completed(futures), start=1):
                future.result()
                if done is not None:
                    done(number, len(items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]
