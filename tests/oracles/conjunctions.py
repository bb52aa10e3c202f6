"""All conjunctions of items with their counts at the top and at the bottom, by counting each of them."""

import numpy as np


def every_conjunction(masks, top, bottom, attribute, max_size):
    """Counts of all conjunctions of rows of `masks` with different attributes, level by level."""
    masks = np.asarray(masks, dtype=np.float32)
    ends = masks[:, top], masks[:, bottom]
    found = {}
    level = [(i,) for i in range(len(masks))]
    held = [end.copy() for end in ends]
    for size in range(1, max_size + 1):
        counts = [part.sum(axis=1).astype(int).tolist() for part in held]
        found.update(zip(level, zip(*counts, strict=True), strict=True))
        if size == max_size:
            return found
        if size + 1 == max_size:
            # The last level needs the counts alone: one product of matrices.
            products = [(part @ end.T).astype(int) for part, end in zip(held, ends, strict=True)]
            for k, items in enumerate(level):
                used = {int(attribute[i]) for i in items}
                for j in range(items[-1] + 1, len(masks)):
                    if int(attribute[j]) not in used:
                        found[(*items, j)] = int(products[0][k, j]), int(products[1][k, j])
            return found
        more = [
            (k, (*items, j))
            for k, items in enumerate(level)
            for j in range(items[-1] + 1, len(masks))
            if int(attribute[j]) not in {int(attribute[i]) for i in items}
        ]
        if not more:
            return found
        parents, last = [k for k, _ in more], [items[-1] for _, items in more]
        held = [part[parents] * end[last] for part, end in zip(held, ends, strict=True)]
        level = [items for _, items in more]
    return found
