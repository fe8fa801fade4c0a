"""Fills a database with copies of its own calls, each moved back in time, its ids with it. A tenth belong to the account that
placed them, the rest to 1,000 copies of that account. Measures on it, in turns with a small one."""

import asyncio
import collections
import json
import re
import statistics
import subprocess
import time

ACCOUNTS = 1_000
# A little is past the 30 days for which deliveries and the request log are kept, and the 14 of event bodies.
DAYS = 30.5
BODIES_KEPT = 14.5
# Copies of all calls in one transaction.
CHUNK = 50
OF_ACCOUNT = ["accounts", "wallets", "api_keys", "agents", "agent_versions", "webhook_endpoints"]
# Where the call's id is found.
OF_CALL = {
    "conversations": "t.id", "conversation_moments": "t.conversation_id", "events": "t.conversation_id",
    "deliveries": "(SELECT e.conversation_id FROM events e WHERE e.id = t.event_id)",
    "attempts": "(SELECT e.conversation_id FROM events e JOIN deliveries d ON d.event_id = e.id WHERE d.id = t.delivery_id)",
    "ledger": "t.conversation_id", "request_logs": "t.resource_id",
}
# What is not simply copied: `ms` is by how much a copy is moved, `number` orders the copies.
OTHERWISE = {
    ("api_keys", "digest"): "sha256(t.digest || int4send(s.account))",
    ("ledger", "seq"): "s.number",
    ("events", "body"): f"CASE WHEN s.ms > {BODIES_KEPT} * 86400000.0 THEN '' ELSE t.body END",
}
PREPARE = """
SET session_replication_role = replica;
SET synchronous_commit = off;
SET work_mem = '256MB';
CREATE FUNCTION pg_temp.moved(id uuid, ms bigint) RETURNS uuid IMMUTABLE STRICT LANGUAGE sql AS $$
    SELECT (lpad(to_hex(('x' || left(hex, 12))::bit(48)::bigint - ms), 12, '0') || substr(hex, 13))::uuid
    FROM (SELECT replace(id::text, '-', '') AS hex) one $$;
CREATE TEMP TABLE calls AS SELECT id AS call, row_number() OVER (ORDER BY id) - 1 AS i FROM conversations;
CREATE TEMP TABLE s AS SELECT account, account::bigint AS ms FROM generate_series(1, {accounts}) account;
"""
COPIES = """
CREATE TEMP TABLE s AS SELECT call, i - k * {calls} AS number,
    ((k - i / {calls}.0) * {step})::bigint AS ms,
    CASE WHEN (i + k) % 10 = 0 THEN 0 ELSE 1 + (hashint8(k * {calls} + i) & 2147483647) % {accounts} END AS account
    FROM calls, generate_series({first}, {last}) k;
ANALYZE s;
"""
USAGE = """
INSERT INTO {table} SELECT account_id, {period}, {sums} FROM conversations GROUP BY 1, 2
    ON CONFLICT (account_id, {name}) DO NOTHING;
"""
AFTER = f"""
INSERT INTO service_settings VALUES ('event_bodies_kept_after',
    pg_temp.moved((SELECT max(id::text)::uuid FROM events), ({BODIES_KEPT} * 86400000)::bigint));
"""


def fill(stores, database, total):
    """Until it has so many conversations."""
    began = time.monotonic()
    calls = int(stores.ask("SELECT count(*) FROM conversations", database))
    copies = total // calls - 1
    columns = {}
    for line in stores.ask("""SELECT table_name, column_name, data_type FROM information_schema.columns
                              WHERE table_schema = 'public' ORDER BY ordinal_position""", database).splitlines():
        table, *column = line.split("|")
        columns.setdefault(table, []).append(column)

    def insert(table, source, on, order):
        values = []
        for name, kind in columns[table]:
            # What an account has is moved by its number.
            by = "s.account" if name in ("account_id", "agent_id", "key_id", "endpoint_id") else "s.ms"
            moved = {"uuid": f"pg_temp.moved(t.{name}, {by})", "timestamp with time zone": f"t.{name} - s.ms * INTERVAL '1 ms'"}
            values.append(OTHERWISE.get((table, name)) or moved.get(kind, f"t.{name}"))
        names = ", ".join(name for name, _ in columns[table])
        return f"INSERT INTO {table} ({names}) SELECT {', '.join(values)} FROM {source} t JOIN s ON {on} ORDER BY {order};\n"

    sql = PREPARE.format(accounts=ACCOUNTS)
    for table in OF_ACCOUNT:
        sql += f"CREATE TEMP TABLE of_{table} AS SELECT * FROM {table};\n" + insert(table, f"of_{table}", "true", "s.ms")
    for table, call in OF_CALL.items():
        sql += f"CREATE TEMP TABLE of_{table} AS SELECT *, {call} AS call FROM {table} t WHERE {call} IS NOT NULL;\n"
        sql += f"ANALYZE of_{table};\n"
    for last in range(copies, 0, -CHUNK):
        sql += "DROP TABLE s;\nBEGIN;\n" + COPIES.format(
            calls=calls, step=DAYS * 86_400_000 / copies, accounts=ACCOUNTS, first=max(1, last - CHUNK + 1), last=last,
        )
        for table in OF_CALL:
            # Oldest first, as they came.
            then = ", t.seq" if table == "conversation_moments" else ""
            sql += insert(table, f"of_{table}", "s.call = t.call", f"s.ms DESC{then}")
        sql += "COMMIT;\n"
    sql += USAGE.format(
        table="usage_hours", name="hour", period="floor(extract(epoch FROM started_at) / 3600)::integer",
        sums="count(*), count(*) FILTER (WHERE state = 'failed')",
    )
    sql += USAGE.format(
        table="usage_days", name="day", period="floor(extract(epoch FROM started_at) / 86400)::integer",
        sums="count(*), count(*), sum(duration_seconds), sum(credits)",
    ) + AFTER
    stores.set(fsync="off", full_page_writes="off", autovacuum="off")
    stores.ask(sql, database)
    stores.ask("VACUUM (ANALYZE, PARALLEL 0)", database)
    stores.set(fsync="on", full_page_writes="on", autovacuum="on")
    stores.ask("CHECKPOINT")
    size = int(stores.ask(f"SELECT pg_database_size('{database}')"))
    print(f"{database}: {total} conversations, {size / 1e9:.2f} GB, filled in {time.monotonic() - began:.0f} s", flush=True)


# Statements that delete what is old.
DELETES = r'''^(DELETE FROM "?(request_logs|attempts|conversation_moments|conversations|deliveries|events)|UPDATE events SET body)'''
# How long transactions were seen to last, every 2 ms, and whether they delete what is old.
SEEN = "CREATE TABLE seen (pid integer, began timestamptz, took interval, deletes boolean, PRIMARY KEY (pid, began))"
WATCH = f"""DO $$ BEGIN LOOP
    INSERT INTO seen SELECT pid, xact_start, clock_timestamp() - xact_start, query ~ '{DELETES}' FROM pg_stat_activity
        WHERE datname = 'filled' AND backend_type = 'client backend' AND xact_start IS NOT NULL
        ON CONFLICT (pid, began) DO UPDATE SET took = excluded.took, deletes = seen.deletes OR excluded.deletes;
    COMMIT;
    PERFORM pg_sleep(0.002);
END LOOP; END $$"""
OF_DATABASE = "FROM pg_stat_statements s JOIN pg_database d ON d.oid = dbid WHERE datname = '{}' AND query NOT LIKE '%pg_%'"
HOLDS = "SELECT count(*) = {} FROM jobs WHERE name = 'retention' AND holder IS NOT NULL"
FIGURES = {
    "pages/s": "{:.0f}", "calls/s until their webhook": "{:.0f}", "ms until a webhook at the pace": "{:.1f}",
    "ms, p99": "{:.1f}", "ms a page in PostgreSQL": "{:.2f}", "ms a call in PostgreSQL": "{:.2f}", "buffers a call": "{:.0f}",
}
# Of these only while retention sleeps: its statements would count as well.
OF_STATEMENTS = 3


def spent(side):
    """Milliseconds and buffers of the side's statements."""
    sums = "SELECT coalesce(sum(total_exec_time), 0), coalesce(sum(shared_blks_hit + shared_blks_read), 0) "
    return [float(one) for one in side.stores.ask(sums + OF_DATABASE.format(side.name)).split("|")]


async def turn(side, pace):
    before = spent(side)
    read, pages = await side.lists(4)
    a_page = (spent(side)[0] - before[0]) / read
    _, calls, _ = await side.place(10**6, 10**6, 5)
    before = spent(side)
    placed, _, after = await side.place(10**6, pace, 6)
    a_call = [(now - was) / placed for now, was in zip(spent(side), before)]
    return [pages, calls, after[len(after) // 2] * 1e3, after[len(after) * 99 // 100] * 1e3, a_page, *a_call]


class Deletions:
    """Rows that are deleted in a database, and how long these transactions last."""

    def __init__(self, stores, side):
        self.stores, self.side = stores, side
        stores.ask(SEEN)
        subprocess.Popen(["psql", "-X", "-q", "-d", stores.url, "-c", WATCH], stderr=subprocess.DEVNULL)
        self.gone, self.since = self.counted(), time.monotonic()

    def counted(self):
        """Of conversations, and of all tables."""
        count = "SELECT sum(n_tup_del) FILTER (WHERE relname = 'conversations'), sum(n_tup_del) FROM pg_stat_user_tables"
        return [int(figure) for figure in self.side.ask(count).split("|")]

    def report(self, what):
        gone, now = self.counted(), time.monotonic()
        rates = [(figure - was) / (now - self.since) for figure, was in zip(gone, self.gone)]
        seen, half, longest = self.stores.ask("""SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY took), max(took)
                                                 FROM seen WHERE deletes; TRUNCATE seen""").split("|")
        print(f"{what}, {now - self.since:.0f} s: {rates[0]:.0f} conversations, {rates[1]:.0f} rows deleted a second; "
              f"half of {seen} transactions took {half}, the longest {longest}", flush=True)
        self.gone, self.since = gone, now

    async def until(self, what, sql):
        while self.side.ask(sql) != "t":
            await asyncio.sleep(0.2)
        self.report(what)


def statements(sides, most):
    """The dearest statements: how often, and per time on the one side and the other."""
    found = []
    for side in sides:
        line = side.stores.ask("SELECT json_object_agg(query, json_build_array(calls, mean_exec_time, (shared_blks_hit + "
                               "shared_blks_read)::float / calls, rows::float / calls)) " + OF_DATABASE.format(side.name))
        found.append(json.loads(line))
    for query, row in sorted(found[1].items(), key=lambda one: -one[1][0] * one[1][1])[:most]:
        if query in found[0]:
            print("; ".join("{:>6} × {:.2f} ms, {:.0f} buffers, {:.1f} rows".format(*of) for of in (found[0][query], row))
                  + f": {' '.join(query.split())[:150]}")


async def measure(options, stores, small, full):
    stores.set(log_lock_waits="on", deadlock_timeout="'50ms'")
    for side in (small, full):
        # It sleeps until it is woken.
        side.ask("INSERT INTO jobs (name, due_at) VALUES ('retention', now() + INTERVAL '1 day') "
                 "ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at")
        await side.node.serve()
    deletions = Deletions(stores, full)
    await deletions.until(
        "deliveries of more than 30 days", "SELECT created_at > now() - INTERVAL '30 days' FROM deliveries ORDER BY id LIMIT 1",
    )
    for what in ("retention asleep", "retention at work"):
        if what == "retention at work":
            stores.set(autovacuum_naptime="'5s'", autovacuum_vacuum_scale_factor="0.005")
            full.ask("UPDATE jobs SET due_at = now() WHERE name = 'retention'")
            await deletions.until("retention wakes up", HOLDS.format(1))
        stores.ask("SELECT pg_stat_statements_reset()")
        figures = {small: [], full: []}
        for number in range(options.rounds or 5):
            for side in (small, full) if number % 2 == 0 else (full, small):
                figures[side].append(await turn(side, options.pace))
        of_small, of_full = (list(zip(*figures[side])) for side in (small, full))
        forms = list(FIGURES.items())[:-OF_STATEMENTS if what == "retention at work" else None]
        for (name, form), was, now in zip(forms, of_small, of_full):
            ratio = statistics.median(one / other for one, other in zip(now, was))
            print(f"{what}, {name}: {form.format(statistics.median(was))} and {form.format(statistics.median(now))}, "
                  f"ratio {ratio:.2f}", flush=True)
        deletions.report(what)
        statements((small, full), options.statements)
    await deletions.until("the rest", HOLDS.format(0))
    cost = ", ".join(f"round((sum({of}) / sum(rows) FILTER (WHERE query LIKE 'DELETE FROM \"conversations\"%'))::numeric, 2)"
                     for of in ("total_exec_time", "wal_bytes"))
    print("ms, bytes of WAL a deleted conversation: " +
          stores.ask(f"SELECT {cost} {OF_DATABASE.format(full.name)} AND query ~ '{DELETES}'"))
    waits = r'still waiting for.*\n.*DETAIL.*\n.*CONTEXT.* in relation "(\w+)"'
    waits = collections.Counter(re.findall(waits, (stores.data / "log").read_text(errors="replace")))
    print(f"waits over 50 ms for a row, by table: {dict(waits)}")
    print("vacuums, dead rows: " + full.ask("SELECT sum(autovacuum_count), sum(n_dead_tup) FROM pg_stat_user_tables"))
