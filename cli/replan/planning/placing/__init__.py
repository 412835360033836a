"""The chooser: which brokers shall hold a partition where the placement leaves a choice. numpy and plain Python only.

The problem. Partitions have the lists that they have, a size, and a rule; brokers have a rack, a weight, and what they
may get. A rule says how many replicas a partition has, on which brokers, and how they lie over the racks. Wanted is a
list for each partition that keeps its rule, of all such lists the one that costs least.

The measures of what rules ask for, in this order: bytes that are copied; replicas that are copied; how a topic is
spread; what brokers get and hold (replicas and bytes over weight); broker id. So a replica that keeps the rules never
moves. Those of a balance: how a topic is spread; how near brokers are to their shares; that a partition moves one
replica; bytes that are copied.

The states of a partition, in the order in which `choose` takes them:

1. in place: its list keeps its rule. Found in columns for all partitions at once, and never an object.
2. filled (`keeping`): the largest set of its replicas that the rule allows is kept, and only what is missing is filled.
   Without balance this is all, and exact: partitions do not depend on each other, so the fewest bytes of each are the
   fewest of all. Over racks the choice is a count per rack, `rack_counts`, decided exactly. Where that leaves a topic
   crowded, new replicas go elsewhere (`choose`).
3. balanced (`balance`): where many replicas have to go, the smallest partitions give one each (`search`). Then units
   move along the cheapest augmenting paths between brokers until every broker is within its bounds. This is the
   successive-shortest-path algorithm for a minimum-cost flow (Ahuja, Magnanti, Orlin: Network Flows, 9.7), on a graph
   whose nodes are the brokers, so "impossible" is proved, and of few units the cost is the least there is.
4. packed (`packing`): bytes per broker, within the balance and within what disks can take. That is bin packing, so a
   search with a budget of steps, never a clock, which ends in placed, impossible, or not found within the budget. What
   only lacks room on disks keeps its list then, and planning refuses each move that has none (`planning.making.room`).

Then who comes first in a changed list is spread by topic (`choose`). Leaders that shall be balanced are chosen
afterwards, by the same flow (`leaders`): who leads changes no list's members.

Invariants: no broker comes to hold or to lead more of a topic than its share, rounded up, and one, while there is
another way (`spread`). A balance moves a second replica of a partition only where one each does not do. Of each result
`broken_rules` finds nothing; it is written apart from the makers and shares only the nouns of `problem`. The same
problem gives the same choice on any machine; the order of partitions and brokers in it is fixed by their names.
Everything here is pure.

Not here: what a placement file says (`placement_file`), which rows a cluster has (`comparison`), whether a move is safe
(`safety`), and sentences (`reporting`).
"""
