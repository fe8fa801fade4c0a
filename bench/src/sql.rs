//! SQL that fills both databases: rows by the million from a counter `i`.

use uuid::Uuid;

use crate::database::{Database, Place};

/// What a UUID made here belongs to, so that the same number makes different ones.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    Row = 0x8000,
    Account = 0x8001,
    Agent = 0x8002,
    Batch = 0x8003,
    Conversation = 0x8004,
    Endpoint = 0x8005,
    Event = 0x8006,
    Folder = 0x8007,
    Key = 0x8008,
    Request = 0x8009,
}

/// The UUID with this number.
pub(crate) fn uuid(of: Of, number: i64) -> Uuid {
    let high = 0x0198_0000_0000_7000_u64;
    let low = ((of as u64) << 48) | u64::try_from(number).unwrap_or(0);
    Uuid::from_u64_pair(high, low)
}

/// The dialect of a database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql {
    sqlite: bool,
}

impl Sql {
    pub(crate) const fn of(database: &Database) -> Self {
        Self {
            sqlite: matches!(database.place, Place::Sqlite(_)),
        }
    }

    /// [`uuid`] of a number that an expression gives.
    pub(crate) fn id(self, of: Of, number: &str) -> String {
        let kind = of as u64;
        match self.sqlite {
            true => format!("unhex(printf('0198000000007000{kind:04x}%012x', {number}))"),
            false => format!(
                "('01980000-0000-7000-{kind:04x}-' || lpad(to_hex({number}), 12, '0'))::uuid"
            ),
        }
    }

    /// A UUID as a literal.
    pub(crate) fn uuid(self, id: Uuid) -> String {
        match self.sqlite {
            true => format!("x'{}'", id.simple()),
            false => format!("'{id}'::uuid"),
        }
    }

    /// An instant that an expression gives in microseconds.
    pub(crate) fn instant(self, micros: &str) -> String {
        match self.sqlite {
            true => micros.to_owned(),
            false => format!("to_timestamp(({micros}) / 1000000.0)"),
        }
    }

    /// The UTC day of an instant, counted from 1970-01-01.
    pub(crate) fn day(self, instant: &str) -> String {
        match self.sqlite {
            true => format!("{instant} / 86400000000"),
            false => format!("floor(extract(epoch FROM {instant}) / 86400)::integer"),
        }
    }

    /// Bytes that nobody reads.
    pub(crate) const fn bytes(self) -> &'static str {
        match self.sqlite {
            true => "x'00'",
            false => "'\\x00'::bytea",
        }
    }

    /// Inserts a row for each `i` from `first` to before `end`.
    pub(crate) fn insert(self, into: &str, values: &str, first: i64, end: i64) -> String {
        let last = end - 1;
        match self.sqlite {
            true => format!(
                "WITH RECURSIVE seq(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM seq WHERE i < {last}) \
                 INSERT INTO {into} SELECT {values} FROM seq WHERE i <= {last};"
            ),
            false => format!(
                "INSERT INTO {into} SELECT {values} FROM generate_series({first}::bigint, {last}) AS seq(i);"
            ),
        }
    }

    /// Inserts the pieces of the names of a table, as migration 24 does.
    pub(crate) fn grams(self, into: &str, of: &str) -> String {
        let first = match self.sqlite {
            true => "unicode",
            false => "ascii",
        };
        let code = |place: u8| format!("CAST({first}(substr(rest, {place})) AS bigint)");
        let (one, two, three) = (code(1), code(2), code(3));
        let one = format!("4398046511104 * {one}");
        let two = format!("{one} + 2097152 * {two}");
        let three = format!("{two} + {three}");
        let pieces = [one, two, three].into_iter().zip(1..).map(|(gram, length)| {
            format!("SELECT account_id, {gram}, created_at, id FROM rests WHERE length(rest) >= {length}")
        });
        let pieces = pieces.collect::<Vec<_>>().join(" UNION ALL ");
        format!(
            "INSERT INTO {into} (account_id, gram, created_at, id) \
             WITH RECURSIVE rests (account_id, created_at, id, rest) AS ( \
               SELECT account_id, created_at, id, name_folded FROM {of} \
               UNION ALL SELECT account_id, created_at, id, substr(rest, 2) FROM rests WHERE length(rest) > 1) \
             {pieces} ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING;"
        )
    }

    /// Runs statements in one transaction. On PostgreSQL foreign keys are right by construction: checking them row by row
    /// would take most of the time.
    pub(crate) async fn fill(self, database: &Database, statements: &str) -> anyhow::Result<()> {
        if self.sqlite {
            return database.execute(statements).await;
        }
        let statements =
            format!("BEGIN; SET LOCAL session_replication_role = replica; {statements} COMMIT");
        database.execute(&statements).await
    }

    /// Does what is done to a table that has been filled, by and by, in production.
    pub(crate) async fn settle(self, database: &Database, tables: &[&str]) -> anyhow::Result<()> {
        if self.sqlite {
            return Ok(());
        }
        for table in tables {
            database.execute(&format!("VACUUM ANALYZE {table}")).await?;
        }
        database.execute("CHECKPOINT").await
    }
}

/// One row in a hundred and one in ten thousand have another value than the others. Evenly spread, and columns with
/// other numbers have theirs in other rows.
pub(crate) fn pick(hundredth: i64, ten_thousandth: i64, values: [&str; 3]) -> String {
    let [most, some, few] = values;
    format!(
        "CASE WHEN i % 100 = {hundredth} THEN {some} WHEN i % 10000 = {ten_thousandth} THEN {few} ELSE {most} END"
    )
}
