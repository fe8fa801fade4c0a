//! Both migration folders match each other and `schema.rs`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;

const SCHEMA: &str = include_str!("../../src/schema.rs");

fn folder(database: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations")).join(database)
}

/// Each migration's name and the text of one of its files, in order.
fn migrations(database: &str, file: &str) -> Vec<(String, String)> {
    let mut found: Vec<_> = std::fs::read_dir(folder(database))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path.join(file)).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// The statements of a folder, each in one line, without comments.
fn statements(database: &str, file: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (_, text) in migrations(database, file) {
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("--"));
        let text = lines.collect::<Vec<_>>().join(" ");
        all.extend(
            text.split(';')
                .map(|statement| statement.split_whitespace().collect::<Vec<_>>().join(" "))
                .filter(|statement| !statement.is_empty()),
        );
    }
    all
}

/// A PostgreSQL statement with SQLite's types.
fn in_sqlite(statement: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    // Only PostgreSQL has collations, fill factors and indexes that are made while others write.
    let plain = statement
        .replace(" COLLATE \"C\"", "")
        .replace(" CONCURRENTLY", "")
        .replace(" WITH (fillfactor = 50)", "")
        .replace(" WITH (fillfactor = 70)", "")
        .replace(" WITH (toast_tuple_target = 8160)", "")
        // The day of an instant.
        .replace(
            "FLOOR(EXTRACT(EPOCH FROM started_at) / 86400)",
            "started_at / 86400000000",
        )
        .replace(
            "FLOOR(EXTRACT(EPOCH FROM started_at) / 3600)",
            "started_at / 3600000000",
        )
        // The code point of a text's first character, and the position of a text in another.
        .replace("ascii(", "unicode(")
        .replace("strpos(", "instr(");
    let is_table = plain.starts_with("CREATE TABLE");
    for word in plain.split(' ') {
        let bare = word.trim_end_matches(',');
        let mapped = match bare {
            "uuid" | "bytea" => "BLOB",
            "timestamptz" | "boolean" | "integer" | "bigint" => "INTEGER",
            "json" => "TEXT",
            // On SQLite the process writes the column itself.
            "clock_timestamp()" | "false" => "0",
            "true" => "1",
            _ => bare,
        };
        words.push(mapped);
        if bare != word {
            words.push(",");
        }
    }
    let joined = words.join(" ").replace(" ,", ",");
    if is_table {
        format!("{joined} STRICT")
    } else {
        joined
    }
}

#[test]
fn both_folders_say_the_same_in_their_own_types() {
    let names = |database| {
        migrations(database, "up.sql")
            .into_iter()
            .map(|(name, _)| name)
    };
    assert!(names("sqlite").eq(names("postgres")));
    for file in ["up.sql", "down.sql"] {
        let postgres: Vec<_> = statements("postgres", file)
            .iter()
            .map(|s| in_sqlite(s))
            .collect();
        // On SQLite, tables whose columns are all in the key have no row id.
        let sqlite: Vec<_> = statements("sqlite", file)
            .iter()
            .map(|s| s.replace(") STRICT, WITHOUT ROWID", ") STRICT"))
            .collect();
        for (left, right) in sqlite.iter().zip(&postgres) {
            assert_eq!(left, right);
        }
        assert_eq!(sqlite.len(), postgres.len());
    }
}

/// Why a migration would disrupt a running service.
fn harm(up: &str, in_transaction: bool) -> Option<&'static str> {
    const TAKES: [&str; 6] = [
        "DROP TABLE",
        "DROP COLUMN",
        "RENAME",
        "SET NOT NULL",
        "ALTER COLUMN",
        "DROP CONSTRAINT",
    ];
    let up = up.to_uppercase();
    if TAKES.iter().any(|word| up.contains(word)) && !up.contains("OLDEST_SCHEMA") {
        return Some("it takes away, and raises no `oldest_schema`");
    }
    let indexes = || {
        up.split(';')
            .filter(|statement| statement.contains("INDEX") && !statement.contains("DROP INDEX"))
    };
    let of_new = |index: &str| {
        let table = index
            .split(" ON ")
            .nth(1)
            .and_then(|rest| rest.split([' ', '(']).next());
        table.is_some_and(|table| up.contains(&format!("CREATE TABLE {table} ")))
    };
    let locks = |index: &&str| !of_new(index) && !index.contains("CONCURRENTLY");
    if indexes().any(|index| locks(&index)) {
        return Some("its index keeps writers from a table: CREATE INDEX CONCURRENTLY");
    }
    let is_concurrent = up.contains("CONCURRENTLY");
    (is_concurrent && in_transaction).then_some("`run_in_transaction = false` in its metadata.toml")
}

#[test]
fn a_migration_does_no_harm_to_versions_that_run_beside_it() {
    for (name, up) in migrations("postgres", "up.sql").into_iter().skip(1) {
        let metadata = folder("postgres").join(&name).join("metadata.toml");
        let metadata = std::fs::read_to_string(metadata);
        let in_transaction = !metadata
            .unwrap_or_default()
            .contains("run_in_transaction = false");
        assert_eq!(harm(&up, in_transaction), None, "{name}");
    }
    for (up, expected) in [
        ("ALTER TABLE a DROP COLUMN b", true),
        ("ALTER TABLE a RENAME COLUMN b TO c", true),
        (
            "ALTER TABLE a DROP COLUMN b; UPDATE service_settings SET value = '1' WHERE name = 'oldest_schema'",
            false,
        ),
        ("ALTER TABLE a ADD COLUMN b integer", false),
        ("CREATE INDEX b ON a (c)", true),
        ("CREATE TABLE a (c integer); CREATE INDEX b ON a (c)", false),
        ("CREATE INDEX CONCURRENTLY b ON a (c)", true),
    ] {
        assert_eq!(harm(up, true).is_some(), expected, "{up}");
    }
    assert_eq!(harm("CREATE INDEX CONCURRENTLY b ON a (c)", false), None);
}

/// `table.column type`, with ` not null` if so: the columns of `schema.rs`, in the database's types.
fn declared_columns(embedded: bool) -> BTreeSet<String> {
    let mut table = "";
    let mut renamed = None;
    let mut columns = BTreeSet::new();
    for line in SCHEMA.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("#[sql_name = \"") {
            renamed = name.strip_suffix("\"]");
        } else if let Some((name, _)) = line.split_once(" (").filter(|_| line.ends_with(") {")) {
            table = name.trim_end_matches("_columns");
            renamed = None;
        } else if let Some((name, kind)) = line.split_once(" -> ").filter(|_| line.ends_with(',')) {
            let kind = kind.trim_end_matches(',');
            let inner = kind
                .strip_prefix("Nullable<")
                .and_then(|k| k.strip_suffix('>'));
            let (sqlite, postgres) = match inner.unwrap_or(kind) {
                "sql::Uuid" => ("BLOB", "uuid"),
                "sql::Instant" => ("INTEGER", "timestamptz"),
                "sql::Json" => ("TEXT", "json"),
                "sql::Word" | "Text" => ("TEXT", "text"),
                "Bool" => ("INTEGER", "bool"),
                "Integer" => ("INTEGER", "int4"),
                "BigInt" => ("INTEGER", "int8"),
                "Binary" => ("BLOB", "bytea"),
                other => panic!("no type of both databases is known for {other}"),
            };
            let kind = if embedded { sqlite } else { postgres };
            let name = renamed.take().unwrap_or(name);
            let null = if inner.is_some() { "" } else { " not null" };
            columns.insert(format!("{table}.{name} {kind}{null}"));
        }
    }
    columns
}

/// `table column,column`: every primary key of `schema.rs`.
fn declared_keys() -> BTreeSet<String> {
    SCHEMA
        .lines()
        .filter_map(|line| line.trim().strip_suffix(") {")?.split_once(" ("))
        .map(|(table, key)| {
            let table = table.trim_end_matches("_columns");
            format!("{table} {}", key.replace(' ', ""))
        })
        .collect()
}

async fn columns(raw: &mut Raw) -> BTreeSet<String> {
    let sql = match raw {
        Raw::Sqlite(_) => {
            "SELECT t.name || '.' || c.name || ' ' || c.type || CASE c.\"notnull\" WHEN 1 THEN ' not null' \
             ELSE '' END AS line FROM sqlite_master t, pragma_table_info(t.name) c \
             WHERE t.type = 'table' AND substr(t.name, 1, 2) <> '__'"
        }
        Raw::Postgres(_) => {
            "SELECT table_name || '.' || column_name || ' ' || udt_name || CASE is_nullable WHEN 'NO' \
             THEN ' not null' ELSE '' END FROM information_schema.columns \
             WHERE table_schema = 'public' AND left(table_name, 2) <> '__'"
        }
    };
    raw.lines(sql).await.into_iter().collect()
}

async fn keys(raw: &mut Raw) -> BTreeSet<String> {
    let sql = match raw {
        Raw::Sqlite(_) => {
            "SELECT name || ' ' || group_concat(part, ',') AS line FROM (SELECT t.name, c.name AS part \
             FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.pk > 0 \
             AND substr(t.name, 1, 2) <> '__' ORDER BY t.name, c.pk) GROUP BY name"
        }
        Raw::Postgres(_) => {
            "SELECT i.indrelid::regclass || ' ' || string_agg(a.attname, ',' ORDER BY array_position(i.indkey::int2[], a.attnum)) \
             FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) \
             JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisprimary AND c.relnamespace = 'public'::regnamespace \
             AND left(c.relname, 2) <> '__' GROUP BY i.indrelid"
        }
    };
    raw.lines(sql).await.into_iter().collect()
}

async fn indexes(raw: &mut Raw) -> BTreeSet<String> {
    let sql = match raw {
        Raw::Sqlite(_) => {
            "SELECT name AS line FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        }
        Raw::Postgres(_) => {
            "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND right(indexname, 5) <> '_pkey'"
        }
    };
    raw.lines(sql).await.into_iter().collect()
}

fn declared_indexes() -> BTreeSet<String> {
    let statements = statements("sqlite", "up.sql");
    let mut indexes = BTreeSet::new();
    for statement in &statements {
        let made = statement
            .strip_prefix("CREATE INDEX ")
            .or_else(|| statement.strip_prefix("CREATE UNIQUE INDEX "));
        if let Some(name) = made.and_then(|rest| rest.split(' ').next()) {
            indexes.insert(name.to_owned());
        } else if let Some(dropped) = statement.strip_prefix("DROP INDEX ") {
            indexes.remove(dropped);
        }
    }
    indexes
}

contract! {
    async fn the_tables_are_those_of_the_code(database: TestDatabase) {
        let store = database.open().await;
        let mut raw = Raw::open(&database).await;
        assert_eq!(columns(&mut raw).await, declared_columns(store.is_embedded()));
        assert_eq!(keys(&mut raw).await, declared_keys());
        assert_eq!(indexes(&mut raw).await, declared_indexes());
        assert!(declared_columns(true).len() > 100, "the code's tables have been read");
    }

    async fn every_migration_can_be_undone_and_done_again(database: TestDatabase) {
        let embedded = database.open().await.is_embedded();
        let folder = if embedded { "sqlite" } else { "postgres" };
        let mut raw = Raw::open(&database).await;
        let before = (columns(&mut raw).await, indexes(&mut raw).await);
        for (_, down) in migrations(folder, "down.sql").into_iter().rev() {
            raw.run(&down).await;
        }
        assert_eq!(columns(&mut raw).await, BTreeSet::new());
        for (_, up) in migrations(folder, "up.sql") {
            raw.run(&up).await;
        }
        assert_eq!((columns(&mut raw).await, indexes(&mut raw).await), before);
    }
}
