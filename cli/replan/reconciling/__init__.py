"""The loop that keeps a cluster as its placement says, by policy: what differs, since when, what may be done, and when.

A round reads the placement, observes, compares, and takes what policy allows; that part is planned alone, judged by the
limits (in stages), applied as `apply` does, and reported. Then the loop rests. It is built on `compared`, `plan_of`,
`apply_plan`, the journal, its lock and the limits; there is no second way to change a cluster. What the loop is and
says is one value (`status`); who watches it implements `Observer`. Times are seconds since 1970-01-01T00:00:00Z, as a
snapshot's `observedAt` says; only how long a lease is silent is measured on the watcher's own monotonic clock.

States, the first that fits:

    waiting for the lease   another loop works on this cluster
    unreachable             cluster or journal did not answer
    broken placement        it cannot be read, contradicts itself or the cluster, or is another cluster's
    paused                  somebody said `replan pause`
    held by another         another application is open, another process has the lock
    acting                  something is applied
    holding                 too much is down, or a round ended in a way at which a person must look
    backing off             rounds failed; the next one comes later and later, at most an hour apart
    outside window          something is due, and no window is open for it
    waiting                 something is not due yet
    differs                 something differs, and policy allows none of it, or it waits for a broker that is down
    at rest                 nothing differs

Invariants:

1. A decision is a pure function of (policy, deviations, memory, what the cluster looks like, now); time comes in.
2. Nothing is done that the policy does not name: a kind without a time is never put right.
3. Nothing is done that was not due: since when something lasts is kept in the journal, so that neither a restart nor
   another machine makes it young or old again. What is away is forgotten.
4. Nothing is done while a hold lasts, and nothing begins outside of a window; what runs, ends.
5. Nothing unclean: no election that loses records is ever in a plan of the loop.
6. A failure is a state with its reason; the loop goes on. It ends by a signal alone.
7. What another process has begun is its own: an application that no loop opened is neither resumed nor cancelled.
8. At most one loop acts on a cluster, by its lease; and were there two, the lock of the journal lets one apply.
"""
