"""The lake: what is kept of many clusters and of their history, as Delta tables that every engine reads.

Belongs here: the tables' columns, how rows are replaced and read, retention, snapshots as rows. All of it by
`deltalake`, which needs no Java; nothing else imports it. Not here: what the rows mean and how they are found.
"""
