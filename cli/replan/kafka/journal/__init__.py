"""The journal on the cluster itself: a compacted topic of one partition, written by one transactional producer.

Here belong its bytes, its lock, who may write and how that changes hands. What the records mean is in
`applying.journal`; which journal a command uses is in `commands`.

Two topics at most: that of the lock, which is `__replan_journal` on every cluster, and that of the journal, which is
the same unless `--journal topic:NAME` says otherwise. A cluster has one lock and one transactional id, whatever its
journal is called, so one transaction writes the lock and the records, in both topics where there are two.

Modules in the order of reading, and whose each state is:

    lock      `Lock`, the record that says who writes
    read      `TopicReader`: what is committed in one topic; owns how far it was read, and the latest of each key
    topic     `JournalTopic`: the topics of lock and journal, made and checked; `LoopRecords`, written without the lock
    write     `Transactions`, the owner's producer: owns the transactional id, and what came of the last commit;
              `PlainProducer`, that of everybody else
    owner     `take_ownership`, and the `OwnedJournal` that comes of it: owns what the topic is to hold

A process is in one of these states:

    reader    reads what is committed; changes nothing, needs no lock
    waiting   another process has the lock; watched for a sign of life on this process's own monotonic clock
    taking    init_transactions is done, so nobody before it can commit any more; what was committed is read, and that
              no application is open in another topic; then a first record is committed, the barrier: this process's own
              lock; then everything committed up to the barrier is read
    owner     commits one transaction per tick, with its lock in each; a record every 10 s at least
    unsure    the outcome of a commit is not known; the same commit is repeated until it is, and until then nothing else
              is written and nothing is requested of the cluster
    following a topic was deleted, or made again by somebody: it is made where it is missing, read, and everything that
              the owner knows is written again, before the commit of this tick counts
    fenced    another process called init_transactions: no commit succeeds any more, the process stops, exit 4
    released  the lock says so; the next one need not wait

Invariants:

1. All records of an `append` become readable together or not at all, and `append` returns only when they have.
2. After `init_transactions` of a taker no commit of a process before it succeeds (KIP-98: the producer's epoch rises).
   `begin_transaction` and `produce` still do, so only a commit proves ownership; the applier sends nothing without one.
   Nobody is fenced whose lock shows a sign of life, nor where the taker finds beforehand that it may not go on.
3. What a taker reads includes every commit that succeeded before it: it reads up to its own barrier, not up to the end
   that a broker names, since an open transaction of anybody holds that end back (the last stable offset).
4. A lock is dead when the taker has watched it unchanged for 60 s on its own monotonic clock; no wall clock decides.
   A live owner that is taken for dead loses nothing but its turn: it is fenced, and stops.
5. An append that failed may have been committed. The next one that succeeds writes the former value of its keys again,
   so that what the owner believes and what the topic says are the same.
6. Compaction keeps the latest record of each key, which is all that counts; nothing expires by time or size. A topic
   whose settings would have it otherwise is refused before anything is written there; so is one with more than one
   partition or with records of another program, unless a lock of replan shows that it is the journal.
7. The lock names the application that is open and the topic of its journal. At most one is open on a cluster: a taker
   whose journal is another topic looks for one there, before it fences anybody and again after it, when nobody can
   open one any more.
8. A commit counts when the topics had, before it and after it, the ids of those that were read. Producers write by
   name, so what is written to a topic that was made again says nothing of the records before it.
"""
