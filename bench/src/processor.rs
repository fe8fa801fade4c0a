//! Holds this process and its PostgreSQL to one processor.
//!
//! An answer that comes from another processor costs some 13 µs more where that one sleeps, half of what a page takes.
//! Which of two servers' sessions sit where is the kernel's choice for seconds, and would be the figure.

use std::process::Command;

use anyhow::Context as _;
use tokio_postgres::NoTls;

/// What is held, until it is dropped.
pub(crate) struct OneProcessor {
    held: Vec<String>,
    before: Vec<String>,
}

impl OneProcessor {
    /// Holds this process, all its threads, and the server at `url` with the sessions that it opens from now on.
    ///
    /// # Errors
    /// The server does not say which process it is, or `taskset` (util-linux) refuses.
    pub(crate) async fn hold(url: &str) -> anyhow::Result<Self> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let connection = tokio::task::spawn_local(connection);
        let file = client
            .query_one("SELECT pg_read_file('postmaster.pid')", &[])
            .await?;
        connection.abort();
        let file: String = file.get(0);
        let server = file
            .lines()
            .next()
            .context("postmaster.pid is empty")?
            .trim()
            .to_owned();
        let mut one = Self {
            held: Vec::new(),
            before: Vec::new(),
        };
        for process in [std::process::id().to_string(), server] {
            let before = taskset(&["-c", "-p", &process])?;
            let before = before.rsplit(' ').next().unwrap_or_default().trim();
            let first: String = before.chars().take_while(char::is_ascii_digit).collect();
            taskset(&["-a", "-c", "-p", &first, &process])?;
            one.before.push(before.to_owned());
            one.held.push(process);
        }
        Ok(one)
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        for (process, before) in self.held.iter().zip(&self.before) {
            if let Err(error) = taskset(&["-a", "-c", "-p", before, process]) {
                eprintln!("  process {process} stays on one processor: {error}");
            }
        }
    }
}

fn taskset(arguments: &[&str]) -> anyhow::Result<String> {
    let done = Command::new("taskset").args(arguments).output();
    let done = done.context("taskset (of util-linux) is missing")?;
    anyhow::ensure!(
        done.status.success(),
        "taskset: {}",
        String::from_utf8_lossy(&done.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
