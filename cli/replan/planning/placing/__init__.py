"""The chooser: which brokers shall hold a partition where the placement leaves a choice. numpy and plain Python only.

The problem (`problem`). Partitions have the lists that they have, a size, and a rule; brokers have a rack, a weight,
and what they may get. A rule says how many replicas a partition has, on which brokers, and how they lie over the racks.
Wanted is a list for each partition that keeps its rule, of all such lists the one that costs least.

The measures of what rules ask for, in this order: bytes that are copied; replicas that are copied; how a topic is
spread; what brokers get and hold (replicas and bytes over weight); broker id. So a replica that keeps the rules never
moves. Those of a balance: how a topic is spread; how near brokers are to their shares; that a partition moves one
replica; bytes that are copied.

Read `choose` first: one round of it is these phases, each of which goes on with the lists of the one before it.

1. in place (`choose`): a list that keeps its rule stays. Found in columns, for all partitions at once.
2. filled (`filling`): of each other partition the largest set of its replicas that the rule allows is kept, and only
   what is missing is filled. Without balance this is all, and exact: partitions do not depend on each other, so the
   fewest bytes of each are the fewest of all. Over racks the choice is a count per rack (`rack_counts`), decided
   exactly. Who of equal ones gets a replica depends on what the others keep and get: `forecast` says it beforehand.
3. uncrowded (`crowding`): who has come to hold too much of a topic gives it to others.
4. balanced (`balance`), where that is asked for, or disks lack room: measures of brokers are brought within bounds, one
   after the other (`goals`). Each in one of two ways. Units that count one each are a minimum-cost flow between brokers
   (`flow`), so "impossible" is proved, and of few units the cost is the least there is. Bytes and rates are bin packing
   (`packing`): a search with a budget of steps, never a clock, which ends in placed, impossible, or not found within
   the budget. What only lacks room on disks keeps its list then, and planning refuses each move that has none
   (`planning.making.room`).
5. led (`leaders`): who comes first in a changed list is spread by topic, and leaders are balanced as replicas are. That
   changes no list's members.

What phases 2 to 5 have in common: what each broker should have (`shares`), how many replicas or leaderships of a topic
it may have (`spread`), where one replica or leadership may go and what that copies (`steps`), and brokers as positions
in columns (`positions`).

Beside `choose`: `balanced_heads` says who leads given lists where `preferredLeaders` says `balanced`, and
`broken_rules` what is wrong with a choice. It is written apart from the makers, and shares only the nouns of `problem`.

Invariants: no broker comes to hold or to lead more of a topic than its share, rounded up, and one, while there is
another way. A balance moves a second replica of a partition only where one each does not do. Of each result
`broken_rules` finds nothing. The same problem gives the same choice on any machine; the order of partitions and brokers
in it is fixed by their names. Everything here is pure.

Not here: what a placement file says (`placement_file`), which rows a cluster has (`comparison`), whether a move is safe
(`safety`), and sentences (`reporting`).
"""
