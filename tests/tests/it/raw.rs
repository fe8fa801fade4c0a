//! Writes to a server's database directly, for changes that no command makes.

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use offhook_tests::{Account, Server, must};
use tokio_postgres::NoTls;

/// Runs statements in which `ID` stands for the account's id.
pub(crate) async fn write(server: &Server, account: &Account, sql: &str) {
    match server.database().url() {
        None => {
            let id = format!("x'{}'", account.id.replace('-', ""));
            let file = server.data_dir().join("offhook.db");
            let file = file.to_str().unwrap_or_default();
            let mut database = must("the database", SqliteConnection::establish(file));
            let sql = format!("PRAGMA busy_timeout = 5000; {}", sql.replace("ID", &id));
            must("SQL", database.batch_execute(&sql));
        }
        Some(url) => {
            let connected = tokio_postgres::connect(&url, NoTls).await;
            let (client, connection) = must("a connection", connected);
            tokio::spawn(connection);
            let sql = sql.replace("ID", &format!("'{}'", account.id));
            must("SQL", client.batch_execute(&sql).await);
        }
    }
}
