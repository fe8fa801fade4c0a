//! The database, and how far its clock is from this machine's.

use offhook_services::SystemClock;
use offhook_storage::{AboutDatabase, Store};

use super::finding::{Finding, Hop, SKEW_AT_MOST};
use crate::prelude::*;

const HOP: Hop = Hop("database");
const CLOCK: Hop = Hop("clock");

/// The oldest PostgreSQL that the service is tested with.
const OLDEST_POSTGRES: i32 = 15;

/// What one node may take of the server's connections: its pool, one that listens, one for migrations.
const CONNECTIONS: i32 = 18;

pub(super) async fn open(settings: &Settings) -> Result<Store, Finding> {
    if let Err(error) = parts::find_database(settings) {
        return Err(HOP.skipped(error.to_string()));
    }
    parts::open_store(settings).await.map_err(|error| {
        let remedy = if settings.is_shared() {
            "see that the server of `database_url` runs, can be reached from here and lets this user in, and that \
             `master_key_file` is the key that the service was first started with"
        } else {
            "see that the data directory can be written, its disk has room, and its `master.key` is the one that it was \
             made with"
        };
        HOP.failed(format!("{error:#}: {remedy}"))
    })
}

pub(super) async fn look(store: &Store) -> Vec<Finding> {
    match store.about().await {
        // By the machine's own clock: that of the service is the database's already.
        Ok(about) => judge(&about, SystemClock.now()),
        Err(error) => vec![HOP.failed(format!("{error}: see the database's own log"))],
    }
}

fn judge(about: &AboutDatabase, ours: Timestamp) -> Vec<Finding> {
    let mut findings = vec![server(about)];
    findings.push(about.clock.map_or_else(
        || CLOCK.good("the embedded database has this machine's"),
        |theirs| clock(ours, theirs),
    ));
    findings
}

fn clock(ours: Timestamp, theirs: Timestamp) -> Finding {
    let (skew, word) = if ours >= theirs {
        (ours.since(theirs), "ahead of")
    } else {
        (theirs.since(ours), "behind")
    };
    let by = format!("{:.1} s {word} the database's", skew.as_secs_f64());
    if skew <= SKEW_AT_MOST {
        return CLOCK.good(format!("this machine's is {by}"));
    }
    let remedy = "set it by chrony or ntpd, which slew it";
    CLOCK.failed(format!("this machine's is {by}: {remedy}"))
}

fn server(about: &AboutDatabase) -> Finding {
    let version = &about.version;
    if about.connections.is_some() && about.major < OLDEST_POSTGRES {
        return HOP.failed(format!(
            "{version} is too old: move to PostgreSQL {OLDEST_POSTGRES} or later"
        ));
    }
    if let Some(connections) = about.connections.filter(|some| *some < CONNECTIONS) {
        return HOP.failed(format!(
            "{version} allows {connections} connections, and a node takes up to {CONNECTIONS}: raise \
             `max_connections` to that many for each node"
        ));
    }
    if about.unsafe_settings.is_empty() {
        return HOP.good(version.clone());
    }
    let settings: Vec<String> = about
        .unsafe_settings
        .iter()
        .map(|(name, value)| format!("`{name}` is {value}"))
        .collect();
    HOP.warning(format!(
        "{version} may lose what it has committed when the power fails ({}): set the server's default back to `on`",
        settings.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::finding::State;
    use super::*;

    fn about(major: i32, connections: i32, unsafe_settings: &[(&str, &str)]) -> AboutDatabase {
        AboutDatabase {
            version: format!("PostgreSQL {major}.1"),
            major,
            clock: None,
            connections: Some(connections),
            unsafe_settings: unsafe_settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn a_server_that_is_too_old_or_too_small_fails_and_an_unsafe_one_is_a_warning() {
        let good = server(&about(15, 100, &[]));
        assert_eq!(good.state, State::Good, "{good:?}");
        let off = &[("fsync", "off")][..];
        for (major, connections, unsafe_settings, state, message) in [
            (
                14,
                100,
                &[][..],
                State::Failed,
                "PostgreSQL 14.1 is too old",
            ),
            (17, 10, &[], State::Failed, "raise `max_connections`"),
            (17, 100, off, State::Warning, "`fsync` is off"),
        ] {
            let found = server(&about(major, connections, unsafe_settings));
            assert_eq!(found.state, state, "{found:?}");
            assert!(found.sentence.contains(message), "{found:?}");
        }
    }

    #[test]
    fn a_clock_that_is_off_by_more_than_two_seconds_fails() {
        let theirs = Timestamp::from_micros(1_777_550_400_000_000);
        let near = clock(theirs.plus(Duration::from_millis(1_900)), theirs);
        assert_eq!(near.state, State::Good, "{near:?}");
        let (hour, moment) = (Duration::from_secs(3600), Duration::from_secs(3));
        for (ours, message) in [
            (theirs.plus(hour), "3600.0 s ahead of the database's"),
            (theirs.minus(moment), "3.0 s behind the database's"),
        ] {
            let found = clock(ours, theirs);
            assert_eq!(found.state, State::Failed, "{found:?}");
            assert!(
                found.sentence.contains(&format!("{message}: set it by")),
                "{found:?}"
            );
        }
    }
}
