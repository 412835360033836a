"""The golden vectors: short stories of one topic, with what a Kafka controller makes of each step.

One table for every driver: the simulator in each version that it imitates, and real controllers with scripted
brokers. They restate facts from Kafka's own tests (PartitionChangeBuilderTest, PartitionReassignmentReplicasTest,
PartitionReassignmentRevertTest, ReplicationControlManagerTest) and what real controllers were seen to do. How they
are read is in `language`.

A step stands alone on its line. An ISR is asked for as a list, as `all` replicas, or as one more (`+4`) or one less
(`-4`); `grow` asks for a count of partitions (`+1`: one more) and names the replicas of the new ones (`same`: as
partition 0 has them); `guarded` reassigns, or takes a reassignment back (`cancel`), and forbids another replication
factor; `set`, `append`, `subtract` and `delete` change a configuration of the topic, after `broker 3` one of that
broker, after `brokers` the default of all.
`lose` takes a disk from a broker, `disk` gives it one more with its next `restart`, `dir` says where its replica of
partition 0, or of the one named last, lies. Brokers 6 to 8 begin with the disks `a` and `b`, all others with `a`.

Checks are indented below their step. `r` replicas, `i` ISR (a set), `a` adding, `d` removing, `L` leader (`L-` none),
`le` and `pe` leader and partition epoch, `elr`, `known` the last known leader, `dirs` the log directory of each replica
(`-`: its broker has not told it). Only what is named is compared, but a named `r` without `a` or `d` says that nothing
is adding or removing. `code` is Kafka's error code, 0 where none is named; `count` the number of partitions;
`key=value` what is stored, `key-` that nothing is. Brokers 0 to 8 are registered and active in the beginning, the topic
is created by `topic`, its partition 0 is meant where none is named. A condition such as `<4.3:` holds for its line, or
alone for the whole vector; `elr` alone: eligible leader replicas are on, else off.
"""

TEXT = """
1. a one-shot move is cancelled: the order before is lost
topic [3,1,2]
reassign [4,5,6]
    r[4,5,6,1,2,3] i[3,1,2] a[4,5,6] d[1,2,3] L3 le0 pe1
cancel
    r[1,2,3] i[3,1,2] L3 le1 pe2

2. a cancel keeps what is left of the target's order
topic [3,1,2]
reassign [4,1,3]
    r[4,1,3,2] a[4] d[2]
cancel
    r[1,3,2] L3 le1

3. a decrease whose target is in sync is done within the request
topic [0,1,2]
reassign [2]
    r[2] i[2] L2 le1 pe1

4. a decrease waits for its target
fence 2
topic [0,1,2]
unfence 2
    i[0,1] L0 le0 pe0
reassign [2]
    r[2,0,1] d[0,1] L0
isr [0,1,2]
    code 108 r[2] i[2] L2 le1

5. a decrease waits for all of its target
fence 2
topic [0,1,2]
unfence 2
reassign [1,2]
    r[1,2,0] d[0]
isr [0,1,2]
    code 108 r[1,2] L1

6. a reorder is done at once and moves no leader
topic [0,1,2]
reassign [2,1,0]
    r[2,1,0] L0 le0 pe1
elect preferred
    L2 le1 pe2

7. the same list again is no change
topic [0,1,2]
reassign [0,1,2]
    r[0,1,2] L0 le0 pe0

8. an overwrite with the same set keeps a stale removal
topic [1,2,3]
reassign [4,2,3]
    r[4,2,3,1] a[4] d[1]
reassign [1,2,3,4]
    r[1,2,3,4] a[4] d[1]
isr [1,2,3,4]
    code 108 r[2,3,4] L2

9. an overwrite with a superset keeps a stale removal
topic [1,2,3]
reassign [4,2,3]
reassign [1,2,3,4,5]
    r[1,2,3,4,5] a[5] d[1]
isr [1,2,3,4,5]
    code 108 r[2,3,4,5] L2 le1

10. an undo by overwriting works up to 4.2, and hangs for ever from 4.3 on
topic [1,2,3]
reassign [4,5,6]
reassign [1,2,3]
    <4.3: r[1,2,3] L1 le1 pe2
    >=4.3: r[1,2,3,4,5,6] a[4,5,6] d[4,5,6] L1 le0 pe2
>=4.3: isr [1,2,3,4,5,6]
    r[1,2,3,4,5,6] a[4,5,6] d[4,5,6] L1 le0
>=4.3: cancel
    r[1,2,3] i[1,2,3] L1

11. an undo by overwriting hangs while the original is not in sync
fence 3
topic [1,2,3]
unfence 3
reassign [4,5,6]
reassign [1,2,3]
    r[1,2,3,4,5,6] a[4,5,6] d[4,5,6]
cancel
    r[1,2,3] i[1,2] le1

12. after an overwrite a cancel takes the first target for the original
topic [1,2,3]
reassign [4,5,6]
reassign [1,2,7]
    r[1,2,7,3,4,5,6] a[7] d[3,4,5,6]
cancel
    r[1,2,3,4,5,6] i[1,2,3]

13. after an overwrite a cancel leaves more replicas than before
topic [1,2,3]
reassign [2,3,4]
reassign [2,3,4,5]
    r[2,3,4,5,1] a[5] d[1]
cancel
    r[2,3,4,1]

14. an overwrite that keeps an arrived replica hangs from 4.3 on
topic [1,2,3]
reassign [4,5,6]
isr [1,2,3,4]
reassign [4,2,3]
    <4.3: r[4,2,3] i[2,3,4] L4 le1
    >=4.3: r[4,2,3,1,5,6] a[4,5,6] d[1,5,6] L1
>=4.3: cancel
    r[2,3,1]

15. the target of a running move is reordered
topic [1,2,3]
reassign [4,5,6]
reassign [6,5,4]
    r[6,5,4,1,2,3] a[4,5,6] d[1,2,3]
isr [1,2,3,4,5,6]
    code 108 r[6,5,4] L6

16. the same partition twice in one request: the later one wins, field by field
topic [1,2,3]
reassign [4,2,3] [5,2,3]
    r[5,2,3,1] a[5] d[1] pe2

17. a fenced broker is accepted as a target
topic [1,2,3]
fence 4
reassign [4,2,3]
    r[4,2,3,1] a[4] d[1] i[1,2,3] L1

18. added and removed ones are listed in order of id
topic [1,2,3]
reassign [5,4,2]
    r[5,4,2,1,3] a[4,5] d[1,3]
isr [1,2,3,4,5]
    code 108 r[5,4,2] i[2,4,5] L5 le1

19. a dead leaving replica holds nothing up
topic [1,2,3]
fence 3
    i[1,2]
reassign [4,5]
isr [1,2,4,5]
    code 108 r[4,5] L4 le1

20. a dead kept replica holds a move up, until 4.3
topic [1,2,3]
fence 3
reassign [3,4,5]
isr [1,2,4,5]
    <4.3: r[3,4,5,1,2] a[4,5] d[1,2] L1
    >=4.3: code 108 r[3,4,5] i[4,5] L4 le1
<4.3: unfence 3
<4.3: isr [1,2,4,5,3]
    code 108 r[3,4,5] L3

21. a cancel that needs an unclean election is refused unless the topic allows one
topic [1,2,3]
reassign [4,5,6]
isr [1,4]
fence 1
    i[4] L4 le1
cancel
    code 39 r[4,5,6,1,2,3] a[4,5,6] d[1,2,3] i[4] L4 le1
set unclean.leader.election.enable=true
cancel
    r[1,2,3] i[2] L2 RECOVERING

22. a preferred election takes the leadership to an adding replica in mid-move
topic [0,1,2]
reassign [4,5,2]
isr [0,1,2,4]
elect preferred
    L4
cancel
    r[2,0,1] i[0,1,2] L2

23. dropping a replica raises the leader epoch, also where the leader stays
topic [0,1,2]
reassign [1,0]
    r[1,0] L0 le1

24. an increase completes without a new leader epoch
topic [0]
reassign [0,1,2]
    r[0,1,2] a[1,2]
isr [0,1]
    r[0,1,2] a[1,2]
isr [0,1,2]
    r[0,1,2] le0

25. completing does not take the leadership from a leader that stays
topic [0,1,2]
reassign [4,1,2]
fence 0
    i[1,2] L1 le1
isr [1,2,4]
    r[4,1,2] L1 le2

26. without ELR the last in-sync replica is waited for, until an unclean election
topic [0,1,2]
fence 0
fence 1
fence 2
    i[2] L- le3 elr[] known[]
elect preferred
    code 80
elect unclean
    code 83
unfence 1
elect preferred
    code 80
elect unclean
    code 0 i[1] L1 RECOVERING
isr all
    code 107 i[1] L1 RECOVERING
isr [1]
    i[1] L1 recovered

27. an unclean election goes by the order of the list, not by id
topic [0,2,1]
isr [0]
fence 0
elect unclean
    L2

28. an unclean election in mid-move may choose an empty replica
topic [0,1,2]
fence 0
fence 1
fence 2
reassign [3,4]
unfence 0
elect unclean
    r[3,4,0,1,2] a[3,4] d[0,1,2] L3 i[3] RECOVERING

29. after that the next change drops the only copy
topic [1]
reassign [2]
fence 1
elect unclean
    r[2,1] a[2] d[1] L2 i[2]
isr [2]
    r[2] i[2] L2

30. a leaderless partition can be reordered, and so its next leader chosen
topic [0,1,2]
fence 0
fence 1
fence 2
unfence 0
unfence 1
    i[2] L-
reassign [1,0,2]
    r[1,0,2] L-
elect unclean
    L1

31. an unregistered broker stays listed and can only be dropped
topic [0,1,2]
unregister 2
    r[0,1,2] i[0,1]
reassign [1,0,2]
    code 39 r[0,1,2]
reassign [1,0,3]
    code 0 r[1,0,3,2] a[3] d[2]

32. controlled shutdowns hand leaderships on, and the last one leaves nobody
topic [0,1,2]
shutdown 0
    i[1,2] L1
shutdown 1
    i[2] L2
shutdown 2
    i[2] L-

33. ELR holds who left the ISR below min ISR, and lets them lead again
elr
topic [0,1,2] min.insync.replicas=2
fence 2
    i[0,1] elr[] L0
fence 1
    i[0] elr[1] L0
fence 0
    i[] L- elr[0,1] known[0]
elect preferred
    code 80
elect unclean
    code 83
unfence 1
    i[1] L1 elr[0] known[]

34. ELR keeps brokers that are no replicas any more, until the next change
elr
topic [0,1,2] min.insync.replicas=2
reassign [0]
    r[0] i[0] elr[1,2]
isr [0]
    r[0] i[0] elr[]

35. a decrease that drops an eligible leader leaves it in the ELR
elr
topic [0,1,2] min.insync.replicas=3
fence 2
    i[0,1] elr[2]
reassign [0,1]
    r[0,1] elr[2]

36. a cancel can put a cancelled broker into the ELR
elr
topic [0,1,2] min.insync.replicas=3
reassign [3,4,5]
isr [0,1,2,3]
fence 0
fence 1
    i[2,3] L3 elr[1]
cancel
    r[0,1,2] i[2] L2 elr[1,3]

37. the replica count of partition 0 caps the min ISR of all
elr
topic [0,4,5] [1,2,3] min.insync.replicas=2
reassign [0]
fence 1
fence 2
    p1: i[3] elr[]

38. writing min.insync.replicas clears the ELR
elr
topic [0,1,2] min.insync.replicas=3
fence 0
    L1 elr[0] pe1
set leader.replication.throttled.replicas=0:1
    L1 elr[0] pe1
delete leader.replication.throttled.replicas
    L1 elr[0] pe1
set min.insync.replicas=1
    L1 elr[] pe2
elect preferred
    code 80 L1

39. the last known leader is waited for
elr
topic [0,1,2] min.insync.replicas=2
fence 2
fence 1
fence 0
    i[] elr[0,1] known[0]
restart 0 unclean
    L- elr[1] known[0]
restart 1 unclean
    <4.1: L0
    >=4.1: L- i[] elr[] known[0]
>=4.1: unfence 1
    L- i[] elr[] known[0]
>=4.1: unfence 0
    L0 i[0] RECOVERING

40. from 4.3 on an increase completes although a kept replica is out of sync
>=4.3
topic [0,1,2]
fence 2
reassign [0,1,2,3]
isr [0,1,3]
    r[0,1,2,3] i[0,1,3] L0

41. from 4.3 on a move completes although a kept replica is out of sync
>=4.3
topic [0,1,2]
fence 2
reassign [1,2,3]
isr [0,1,3]
    code 108 r[1,2,3] i[1,3] L1

42. the new leader is the first of the target that is in sync
>=4.3
topic [0,1,2]
fence 2
reassign [2,3,4]
isr [0,1,3,4]
    code 108 r[2,3,4] i[3,4] L3

43. where more leave than join, all of the target is needed
>=4.3
topic [0,1,2,3]
fence 3
reassign [3,4]
isr [0,1,2,4]
    r[3,4,0,1,2] a[4] d[0,1,2]

44. a move of two replicas with one dead
>=4.3
topic [1,2]
fence 2
reassign [2,3]
isr [1,3]
    code 108 r[2,3] i[3] L3

45. dropping the dead replica is done at once
topic [1,2,3]
fence 3
reassign [1,2]
    r[1,2] i[1,2] L1

46. keeping the dead replica and dropping a live one is not
topic [1,2,3]
fence 3
reassign [1,3]
    r[1,3,2] d[2] L1

47. expand, reorder, elect and shrink around a dead replica
>=4.3
topic [1,2,3]
fence 3
reassign [1,2,3,4,5]
    r[1,2,3,4,5] a[4,5]
isr [1,2,4,5]
    r[1,2,3,4,5] L1
reassign [4,2,5,1,3]
    r[4,2,5,1,3] L1
elect preferred
    L4
reassign [4,2,5]
    r[4,2,5] i[2,4,5] L4

48. a stale adding set is replaced by a new one that is not empty
topic [1,2,3]
reassign [4,5,6]
reassign [1,2,7]
isr [1,2,3,7]
    r[1,2,7] L1

49. the same for an increase
topic [1,2,3]
reassign [1,2,3,4]
reassign [1,2,3,5]
isr [1,2,3,5]
    r[1,2,3,5] L1

50. an increase undone by overwriting hangs, and a further one drops its replica
>=4.3
topic [1,2,3]
reassign [1,2,3,4]
reassign [1,2,3]
    r[1,2,3,4] a[4] d[4]
isr [1,2,3,4]
    r[1,2,3,4] a[4] d[4]
reassign [1,2,3,4,5]
isr [1,2,3,4,5]
    r[1,2,3,5]

51. only a clean shutdown keeps a broker in the ELR
elr
topic [0,1,2] min.insync.replicas=2
fence 2
fence 1
    i[0] elr[1]
restart 1 clean
    i[0] elr[1]
restart 1 unclean
    i[0] elr[]

52. a broker that shut down cleanly leads again out of the ELR
elr
topic [0,1,2] min.insync.replicas=2
fence 2
fence 1
fence 0
restart 1 clean
unfence 1
    i[1] L1

53. up to 4.3 a cordoned broker is accepted, from 4.4 on also a list that keeps it is refused
>=4.3
topic [1,2,4]
cordon 4
reassign [4,1,2]
    <4.4: code 0 r[4,1,2]
    >=4.4: code 39 r[1,2,4]
reassign [1,2,4,5]
    <4.4: code 0 r[1,2,4,5] a[5]
    >=4.4: code 39 r[1,2,4]
<4.4: cancel
    r[1,2,4]
reassign [1,2,5]
    code 0 r[1,2,5,4] a[5] d[4]
cancel
    code 0 r[1,2,4]

54. assigning the target over the arrived union drops, orders and moves the leadership in one record
topic [1,2,3]
reassign [1,2,3,4,5]
isr [1,2,3,4,5]
    r[1,2,3,4,5] L1 le0 pe2
reassign [4,2,5]
    r[4,2,5] i[2,4,5] L4 le1 pe3

55. codes of requests that mean nothing
topic [1,2,3]
cancel
    code 85
reassign [1,2,99]
    code 39
reassign [1,2,2]
    code 39
reassign []
    code 39
elect preferred
    code 84
elect unclean
    code 84

56. the replicas that a partition has in the middle of a move count for new ones
topic [1,2] [2,3]
reassign [1,2,3]
grow +1 [4,5]
    code 39 count 2
grow +1 [4,5,6]
    count 3
    p2: r[4,5,6] i[4,5,6] L4 le0 pe0

57. new partitions may name fenced brokers, as long as one of the replicas can lead
topic [1,2]
fence 4
grow 3 [4,3] [5,6]
    count 3
    p1: r[4,3] i[3] L3 le0 pe0
    p2: r[5,6] i[5,6] L5
shutdown 3
grow +2 [1,2] [4,3]
    code 39 count 3
unfence 4
grow +1 [4,3]
    count 4
    p3: r[4,3] i[4] L4

58. codes of partitions that cannot be made
topic [1,2] [2,3]
grow 2
    code 37
grow 1
    code 37
grow +2 [1,2]
    code 39
grow +1 [1,2] [2,3]
    code 39
grow +1 []
    code 39
grow +1 [1]
    code 39
grow +1 [1,1]
    code 39
grow +1 [1,99]
    code 39 count 2

59. from 4.4 on nothing new is made on a cordoned broker
>=4.3
topic [1,2]
cordon 4
grow +1 [3,4]
    <4.4: count 2
    >=4.4: code 39 count 1

60. a broker that registers for the first time is listed at once, and leads once it is unfenced
topic [1,2,3]
reassign [9,2,3]
    code 39
register 9
reassign [9,2,3]
    r[9,2,3,1] a[9] d[1]
isr +9
    code 107
unfence 9
isr +9
    code 108 r[9,2,3] i[2,3,9] L9 le1

61. a broker that was unregistered comes back to the lists that still name it
topic [1,2,3]
unregister 3
    r[1,2,3] i[1,2]
register 3
unfence 3
isr all
    r[1,2,3] i[1,2,3] L1

62. throttle lists: what is there is not appended, what is not there is not subtracted
topic [1,2]
append leader.replication.throttled.replicas=0:1,0:2
    leader.replication.throttled.replicas=0:1,0:2 follower.replication.throttled.replicas-
append leader.replication.throttled.replicas=0:2,0:3,0:3
    leader.replication.throttled.replicas=0:1,0:2,0:3
subtract leader.replication.throttled.replicas=0:1,9:9,0:3
    leader.replication.throttled.replicas=0:2
subtract leader.replication.throttled.replicas=0:2
    leader.replication.throttled.replicas=
delete leader.replication.throttled.replicas
    leader.replication.throttled.replicas-
delete leader.replication.throttled.replicas
    leader.replication.throttled.replicas-

63. subtracting from nothing leaves an empty override
topic [1,2]
subtract follower.replication.throttled.replicas=0:1
    follower.replication.throttled.replicas= leader.replication.throttled.replicas-
append follower.replication.throttled.replicas=0:2
    follower.replication.throttled.replicas=0:2
append follower.replication.throttled.replicas=
    follower.replication.throttled.replicas=0:2,
set follower.replication.throttled.replicas=0:1,0:1
subtract follower.replication.throttled.replicas=0:1
    follower.replication.throttled.replicas=0:1

64. a star takes no company
topic [1,2]
set leader.replication.throttled.replicas=*
append leader.replication.throttled.replicas=0:1
    code 40 leader.replication.throttled.replicas=*
append leader.replication.throttled.replicas=*
    leader.replication.throttled.replicas=*
subtract leader.replication.throttled.replicas=0:1
    leader.replication.throttled.replicas=*
subtract leader.replication.throttled.replicas=*
    leader.replication.throttled.replicas=
append leader.replication.throttled.replicas=0:1
append leader.replication.throttled.replicas=*
    code 40 leader.replication.throttled.replicas=0:1
set leader.replication.throttled.replicas=*,
    leader.replication.throttled.replicas=*,
set leader.replication.throttled.replicas=,0:1,
    leader.replication.throttled.replicas=,0:1,

65. values that a topic does not take
topic [1,2] min.insync.replicas=2
set leader.replication.throttled.replicas=0:x
    code 40 leader.replication.throttled.replicas-
append follower.replication.throttled.replicas=all
    code 40 follower.replication.throttled.replicas-
set min.insync.replicas=0
    code 40
set min.insync.replicas=1_0
    code 40
set min.insync.replicas=2147483648
    code 40
append min.insync.replicas=1
    code 40
set unclean.leader.election.enable=maybe
    code 40 min.insync.replicas=2 unclean.leader.election.enable-
delete min.insync.replicas
    min.insync.replicas-

66. new partitions have as many replicas as that partition has which comes first in the controller's hash table
topic [1,2,3] [1,2,3] [1,2,3]
reassign [1]
    r[1]
grow +1 [4]
    code 39
grow +2 [4,5,6] [4,5,6]
    count 5
grow +1 [5]
    code 39
fence 4
grow +1 [5]
    count 6
reassign [1,2,3]
grow +1 [5,6,7]
    code 39
grow +1 [6]
    count 7

67. the leader's disk is lost: that replica goes, the broker and its other disk stay
topic [6,1,2] [6,1,2]
    i[6,1,2] L6 pe0 dirs[-,a,a]
dir 6 a
    L6 le0 pe1 dirs[a,a,a]
dir 6 b 1
lose 6 a
    r[6,1,2] i[1,2] L1 le1 pe2 dirs[a,a,a]
    p1: r[6,1,2] i[6,1,2] L6 le0 pe1 dirs[b,a,a]
lose 6 a
    i[1,2] L1 le1 pe2

68. a follower's disk is lost
topic [1,6,2]
dir 6 a
lose 6 a
    i[1,2] L1 le0 pe2

69. a replica whose directory was not reported stays in sync until it is reported
topic [1,6,2]
lose 6 a
    i[1,2,6] L1 pe0
dir 6 a
    i[1,2] L1 le0 pe2 dirs[a,a,a]

70. what lies on a lost disk may come into the ISR and never leads
topic [6,1,2]
dir 6 a
lose 6 a
isr all
    i[1,2,6] L1 le1
elect preferred
    code 80 L1
fence 1
    L2
reassign [6,2,1]
elect preferred
    code 80 L2
fence 2
    L-

71. a new replica lies on the one disk that is left, with two nobody knows where
topic [1,2,3]
lose 8 a
reassign [1,2,3,8]
    r[1,2,3,8] a[8] dirs[a,a,a,b]
reassign [1,2,3,8,7]
    r[1,2,3,8,7] a[7] dirs[a,a,a,b,-]
isr all
    r[1,2,3,8,7] i[1,2,3,7,8]

72. the disk of a new replica is lost in the copy: the move is open, and the controller would take it all the same
topic [1,2,3]
reassign [7,2,3]
    dirs[-,a,a,a]
dir 7 a
lose 7 a
    r[7,2,3,1] i[1,2,3] a[7] d[1] L1
isr all
    code 108 r[7,2,3] i[2,3,7] L2 le1

73. the last disk of a broker cannot be taken from it: a real one halts
topic [1,2,3]
lose 1 a
    i[2,3] L2 le1
isr all
elect preferred
    L1 le2

74. a broker comes back with a new disk, and leads when it has said what lies there
topic [6,1,2]
dir 6 a
lose 6 a
disk 6 c
restart 6 clean
unfence 6
isr all
    i[1,2,6]
elect preferred
    code 80 L1
dir 6 c
elect preferred
    L6 dirs[c,a,a]

75. to say where a replica lies wipes the ELR up to 4.2
elr
topic [1,2,6] min.insync.replicas=3
fence 2
    elr[2]
dir 6 a
    <4.3: elr[]
    >=4.3: elr[2]

76. a replica leaves for the ELR when its disk is lost, and leads from an empty new one
elr
>=4.3
topic [6,1] min.insync.replicas=2
dir 6 a
lose 6 a
    i[1] L1 elr[6]
disk 6 c
restart 6 clean
fence 1
    i[] L- elr[1,6]
unfence 6
    L-
dir 6 c
    L- dirs[c,a]
elect preferred
    i[6] L6 elr[1]

77. what the controller says of directories that it does not know
topic [1,2,6]
dir 3 a
    code 6
dir 6 c
    code 0 i[1,2] dirs[a,a,c]
dir 6 b
    code 0 i[1,2] dirs[a,a,b]
isr all
    i[1,2,6]

78. it has no leader any more although the ISR is not empty: the last leader is noted all the same
elr
topic [3]
set unclean.leader.election.enable=true
reassign [3,6]
fence 3
    L6 RECOVERING
cancel
    <4.1: r[3] i[3] L- known[]
    >=4.1: r[3] i[3] L- known[6]
elect preferred
    code 80
unfence 3
    r[3] i[3] L3 known[]

79. writing min.insync.replicas forgets the last known leader too, the same value once more forgets nothing
elr
topic [0,1,2] min.insync.replicas=2
fence 2
fence 1
fence 0
    i[] L- elr[0,1] known[0]
set min.insync.replicas=2
    i[] L- elr[0,1] known[0]
restart 0 unclean
restart 1 unclean
    >=4.1: i[] L- elr[] known[0]
>=4.1: set min.insync.replicas=1
    i[] L- elr[] known[]
>=4.1: unfence 0
    i[] L- elr[] known[]
>=4.1: elect unclean
    i[0] L0 RECOVERING

80. what a topic can be configured with
topic [1,2]
set cleanup.policy=compact
set compression.gzip.level=9
set compression.lz4.level=9
set compression.type=gzip
set compression.zstd.level=9
set delete.retention.ms=1000
set file.delete.delay.ms=1000
set flush.messages=1000
set flush.ms=1000
set follower.replication.throttled.replicas=*
set index.interval.bytes=1000
set leader.replication.throttled.replicas=0:1
set local.retention.bytes=-2
set local.retention.ms=-2
set max.compaction.lag.ms=1000
set max.message.bytes=1000
set message.timestamp.after.max.ms=1000
set message.timestamp.before.max.ms=1000
set message.timestamp.type=LogAppendTime
set min.cleanable.dirty.ratio=0.3
set min.compaction.lag.ms=1000
set min.insync.replicas=1
set preallocate=false
set remote.log.copy.disable=false
set remote.log.delete.on.disable=false
set remote.storage.enable=false
set retention.bytes=1000
set retention.ms=1000
set segment.bytes=1048576
set segment.index.bytes=1000
set segment.jitter.ms=1000
set segment.ms=1000
set unclean.leader.election.enable=true
    cleanup.policy=compact compression.gzip.level=9 compression.lz4.level=9 compression.type=gzip
    compression.zstd.level=9 delete.retention.ms=1000 file.delete.delay.ms=1000 flush.messages=1000 flush.ms=1000
    follower.replication.throttled.replicas=* index.interval.bytes=1000 leader.replication.throttled.replicas=0:1
    local.retention.bytes=-2 local.retention.ms=-2 max.compaction.lag.ms=1000 max.message.bytes=1000
    message.timestamp.after.max.ms=1000 message.timestamp.before.max.ms=1000 message.timestamp.type=LogAppendTime
    min.cleanable.dirty.ratio=0.3 min.compaction.lag.ms=1000 min.insync.replicas=1 preallocate=false
    remote.log.copy.disable=false remote.log.delete.on.disable=false remote.storage.enable=false retention.bytes=1000
    retention.ms=1000 segment.bytes=1048576 segment.index.bytes=1000 segment.jitter.ms=1000 segment.ms=1000
    unclean.leader.election.enable=true
set remote.copy.lag.ms=1000
    <4.4: code 40
    >=4.4: remote.copy.lag.ms=1000
set remote.copy.lag.bytes=1000
    <4.4: code 40
    >=4.4: remote.copy.lag.bytes=1000
set message.downconversion.enable=true
    <4.0: message.downconversion.enable=true
    >=4.0: code 40
set message.format.version=3.0
    <4.0: message.format.version=3.0
    >=4.0: code 40
set retention=1000
    code 40 retention.ms=1000

81. the guard of the replication factor judges what a move will end with
>=4.1
topic [1,2,3]
guarded [1,2]
    code 38 r[1,2,3]
guarded [1,2,4]
    r[1,2,4,3] a[4] d[3]
guarded [1,2,3,4]
    code 38 r[1,2,4,3] a[4] d[3]
guarded [5,2,1]
    r[5,2,1,3,4] a[5] d[3,4]
reassign [5,2]
    r[5,2,1,3,4] a[5] d[1,3,4]
guarded [5,2,1]
    code 38
guarded [2,5]
    r[2,5,1,3,4] a[5] d[1,3,4]

82. who comes back lets another lead that stands before it, where unclean elections have been allowed meanwhile
topic [0,1,2]
fence 0
fence 1
fence 2
unfence 0
    i[2] L-
set unclean.leader.election.enable=true
    i[2] L-
unfence 1
    i[0] L0 RECOVERING

83. with ELR no copy of a partition without a leader can be cancelled; an unclean election lets another lead
elr
topic [1,2,3] min.insync.replicas=2
reassign [1,2,3,4]
fence 2
fence 3
fence 1
    i[] L-
unregister 1
unfence 2
cancel
    code 39 r[1,2,3,4] a[4] i[] L-
elect unclean
    r[1,2,3,4] a[4] i[2] L2

84. without ELR a copy of a partition without a leader can be cancelled, and it stays without one
topic [1,2,3]
reassign [1,2,3,4]
fence 2
fence 3
fence 1
    i[1] L-
unregister 1
unfence 2
unfence 3
cancel
    r[1,2,3] i[1] L-
elect unclean
    r[1,2,3] i[2] L2

85. the target comes first, and what leaves stands behind it in order of id
topic [3,2,1,0]
fence 3
reassign [3,1]
    r[3,1,0,2] d[0,2]
reassign [7,3,1,8]
    r[7,3,1,8,0,2] a[7,8] d[0,2]
cancel
    r[3,1,0,2] L2

86. the guard of the replication factor does not hold a cancel up
>=4.1
topic [1,2,3]
reassign [1,2,3,4]
guarded cancel
    r[1,2,3]

87. who is fenced, has stopped or is not registered does not join
topic [1,2,3,4]
isr [1]
fence 2
isr +2
    code 107
shutdown 3
isr +3
    code 107
unregister 4
isr +4
    code 107 i[1] L1

88. the ISR as it is changes nothing
topic [1,2]
isr [1,2]
    i[1,2] pe0

89. an eligible leader that is no replica makes the controller stumble where a new list names it
elr
topic [1,5,2] min.insync.replicas=2
reassign [5]
fence 5
    r[5] i[] L- elr[1,2,5]
reassign [1]
    code -1 r[5] elr[1,2,5]

90. a default of all brokers is written again and clears the ELR though it stays
elr
topic [1,2,3]
brokers set min.insync.replicas=3
fence 3
    elr[3] pe1
brokers set min.insync.replicas=3
    elr[] pe2
set min.insync.replicas=3
unfence 3
isr all
fence 3
    elr[3] pe4
brokers set min.insync.replicas=2
    elr[] pe5

91. the largest numbers
topic [1,2]
set min.insync.replicas=2147483647
    min.insync.replicas=2147483647
broker 1 set min.insync.replicas=2147483647
broker 1 delete min.insync.replicas
broker 1 set leader.replication.throttled.rate=9223372036854775807
broker 1 delete leader.replication.throttled.rate
"""
