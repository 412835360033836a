"""What commands of several folders use: options, the cluster and its journal, plans, and performing one.

No command is here.

options, target          what is typed, and which cluster it names
journals                 the journal of a cluster: read, or owned while something is done; the records of its loop
observed, with_journal   the cluster to plan from, with what its journal says; `unread`: what the user may not read
rates, revisions         what producers write; a placement as it is elsewhere
plans                    a plan read, printed, saved, and its exit code
permissions, application, progress
                         who may apply it, who approves it, performing it, and what is shown meanwhile
"""
