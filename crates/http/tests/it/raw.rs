//! Direct database access, for states that the service cannot create.

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};
use offhook_testkit::TestDatabase;

use crate::it::client::must;

/// Runs statements on a test's SQLite file, regardless of foreign keys.
pub(crate) fn run(database: &TestDatabase, sql: &str) {
    must(open(database).batch_execute(sql));
}

/// Runs one statement; returns how many rows it changed.
pub(crate) fn change(database: &TestDatabase, sql: &str) -> usize {
    must(diesel::sql_query(sql).execute(&mut open(database)))
}

/// Blocks all other writers until it is dropped.
pub(crate) fn hold(database: &TestDatabase) -> SqliteConnection {
    let mut connection = open(database);
    must(connection.batch_execute("BEGIN IMMEDIATE"));
    connection
}

fn open(database: &TestDatabase) -> SqliteConnection {
    let file = database.directory().map(|place| place.join("offhook.db"));
    let file = file.unwrap_or_default();
    let connection = SqliteConnection::establish(&file.to_string_lossy());
    let mut connection = must(connection);
    let free = "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF";
    must(connection.batch_execute(free));
    connection
}
