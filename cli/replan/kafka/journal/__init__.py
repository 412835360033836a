"""The journal on the cluster itself: a compacted topic of one partition, written by one transactional producer.

Here belong its bytes, its lock, who may write and how that changes hands. What the records mean is in
`applying.journal`; which journal a command uses is in `commands`.

A process is in one of these states:

    reader    reads what is committed; changes nothing, needs no lock
    waiting   another process has the lock; watched for a sign of life on this process's own monotonic clock
    taking    init_transactions is done, so nobody before it can commit any more; then a first record is committed, the
              barrier: this process's own lock; then everything committed up to the barrier is read
    owner     commits one transaction per tick, with its lock in each; a record every 10 s at least
    unsure    the outcome of a commit is not known; the same commit is repeated until it is, and until then nothing else
              is written and nothing is requested of the cluster
    fenced    another process called init_transactions: no commit succeeds any more, the process stops, exit 4
    released  the lock says so; the next one need not wait

Invariants:

1. All records of an `append` become readable together or not at all, and `append` returns only when they have.
2. After `init_transactions` of a taker no commit of a process before it succeeds (KIP-98: the producer's epoch rises).
   `begin_transaction` and `produce` still do, so only a commit proves ownership; the applier sends nothing without one.
3. What a taker reads includes every commit that succeeded before it: it reads up to its own barrier, not up to the end
   that a broker names, since an open transaction of anybody holds that end back (the last stable offset).
4. A lock is dead when the taker has watched it unchanged for 60 s on its own monotonic clock; no wall clock decides.
   A live owner that is taken for dead loses nothing but its turn: it is fenced, and stops.
5. An append that failed may have been committed. The next one that succeeds writes the former value of its keys again,
   so that what the owner believes and what the topic says are the same.
6. Compaction keeps the latest record of each key, which is all that counts; nothing expires by time or size.
"""
