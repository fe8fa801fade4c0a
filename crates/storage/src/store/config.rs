//! The location of a store's data, and how long to wait for its server.

use std::path::PathBuf;
use std::time::Duration;

/// The location of the data.
#[derive(Clone)]
pub enum StoreConfig {
    Sqlite {
        /// Created if it does not exist.
        file: PathBuf,
        /// Reader threads.
        readers: usize,
    },
    Postgres {
        /// `postgres://…`.
        url: String,
        /// The server itself, if `url` leads through a pooler: where to migrate, and to listen to other processes.
        direct_url: Option<String>,
        /// The most connections.
        connections: usize,
        /// How long anything may wait for the server before that counts as an outage.
        wait: Duration,
    },
}

/// Hides the URL, which holds a password.
impl std::fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite { file, readers } => f
                .debug_struct("Sqlite")
                .field("file", file)
                .field("readers", readers)
                .finish(),
            Self::Postgres { connections, .. } => f
                .debug_struct("Postgres")
                .field("connections", connections)
                .finish_non_exhaustive(),
        }
    }
}

impl StoreConfig {
    /// How long a request may wait for PostgreSQL: it is answered within two seconds.
    pub const WAIT: Duration = Duration::from_secs(2);

    /// How long a command may wait: no client gives up meanwhile, and the machine may be busy starting everything at
    /// once.
    const WAIT_OF_COMMANDS: Duration = Duration::from_secs(15);

    /// With the longer wait of a user at a terminal.
    #[must_use]
    pub fn patient(mut self) -> Self {
        if let Self::Postgres { wait, .. } = &mut self {
            *wait = Self::WAIT_OF_COMMANDS;
        }
        self
    }

    /// With a URL of the server itself.
    #[must_use]
    pub fn with_direct_url(mut self, url: Option<String>) -> Self {
        if let Self::Postgres { direct_url, .. } = &mut self {
            *direct_url = url;
        }
        self
    }

    /// Reads a database URL.
    ///
    /// Rejects any other scheme with a sentence: a misspelled scheme must not become a file name.
    pub fn from_url(url: &str) -> Result<Self, String> {
        match url.split_once("://").map(|(scheme, _)| scheme) {
            Some("postgres" | "postgresql") => Ok(Self::Postgres {
                url: url.to_owned(),
                direct_url: None,
                connections: 16,
                wait: Self::WAIT,
            }),
            // Connections share neither a nameless database nor one in memory.
            Some("sqlite") => match &url["sqlite://".len()..] {
                "" | ":memory:" => Err(
                    "the database URL must name a file, such as sqlite://data/offhook.db"
                        .to_owned(),
                ),
                file => Ok(Self::sqlite(file)),
            },
            _ => Err("the database URL must begin with postgres:// or sqlite://".to_owned()),
        }
    }

    /// An SQLite file with the default number of readers.
    #[must_use]
    pub fn sqlite(file: impl Into<PathBuf>) -> Self {
        Self::Sqlite {
            file: file.into(),
            readers: 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_in_a_log_does_not_show_the_password() {
        let config = StoreConfig::from_url("postgres://u:hunter2@h/d").unwrap();
        assert_eq!(format!("{config:?}"), "Postgres { connections: 16, .. }");
    }
}
