//! Redis, in which processes count requests together.

use offhook_ratelimit::{AboutRedis, RedisFault, RedisStore};
use offhook_services::SystemClock;
use url::Url;

use super::finding::{Finding, Hop, SKEW_AT_MOST};
use crate::prelude::*;

const HOP: Hop = Hop("redis");

/// A check that takes longer is given up, and its request refused.
const CHECK_LIMIT: Duration = Duration::from_millis(100);

/// `others` are the names of the Redises that running processes count in.
pub(super) async fn look(settings: &Settings, others: &[String]) -> Finding {
    let Some(url) = &settings.redis_url else {
        return HOP
            .good("none (`redis_url`): one process serves and counts requests in its memory");
    };
    let place = place(url.expose());
    match RedisStore::about(url.expose(), || SystemClock.now().micros()).await {
        Ok(about) => judge(&about, &place, others),
        Err(fault) => HOP.failed(sentence(&fault, &place)),
    }
}

/// Where it is, without what lets one in.
fn place(url: &str) -> String {
    let url = Url::parse(url).ok();
    let host = url
        .as_ref()
        .and_then(|url| Some((url.host_str()?, url.port())));
    match host {
        Some((host, port)) => format!("{host}:{}", port.unwrap_or(6379)),
        None => "the place of `redis_url`".to_owned(),
    }
}

fn sentence(fault: &RedisFault, place: &str) -> String {
    let (what, message, remedy) = match fault {
        RedisFault::Unreachable(message) => (
            "does not answer",
            message,
            "see that it runs and can be reached from here, or correct `redis_url`",
        ),
        RedisFault::LoginRefused(message) => (
            "does not let this user in",
            message,
            "correct the user and the password in `redis_url`",
        ),
        RedisFault::Unusable(message) => (
            "does not run the script that counts requests",
            message,
            "let it be a primary with memory to spare, and give the user the rights that \
             docs/operations/postgres-and-redis.md names",
        ),
    };
    format!("Redis at {place} {what} ({message}), so every request is refused: {remedy}")
}

fn judge(about: &AboutRedis, place: &str, others: &[String]) -> Finding {
    let version = about.version.as_deref().unwrap_or("of unknown version");
    let redis = format!("Redis {version} at {place}");
    if about.took > CHECK_LIMIT {
        return HOP.failed(format!(
            "{redis} took {} ms for one check, and a check has {} ms: move it nearer, or see what keeps it",
            about.took.as_millis(),
            CHECK_LIMIT.as_millis()
        ));
    }
    let skew = Duration::from_micros(about.ahead_us.unsigned_abs());
    if skew > SKEW_AT_MOST {
        let word = match about.ahead_us > 0 {
            true => "ahead of",
            false => "behind",
        };
        return HOP.failed(format!(
            "{redis} has a clock that is {:.1} s {word} this machine's, and says by it when a client may ask again: set \
             both by chrony or ntpd, which slew them",
            skew.as_secs_f64()
        ));
    }
    let is_another = |other: &String| about.name.as_ref() != Some(other);
    if others.iter().any(is_another) {
        return HOP.failed(format!(
            "{redis} is not the one that every running process on this database counts in, so they do not share their \
             limits: give every process the same `redis_url`"
        ));
    }
    match about.eviction.as_deref() {
        Some("noeviction") => HOP.good(format!("{redis} counts and forgets nothing")),
        Some(policy) => HOP.warning(format!(
            "{redis} forgets counts when its memory is full ({policy}): set `maxmemory-policy noeviction`"
        )),
        None => HOP.good(format!("{redis} counts; its `maxmemory-policy` is not told: let it be noeviction")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    fn about(eviction: Option<&str>, ahead_us: i64, took_ms: u64) -> AboutRedis {
        AboutRedis {
            version: Some("7.4.1".to_owned()),
            eviction: eviction.map(str::to_owned),
            ahead_us,
            took: Duration::from_millis(took_ms),
            name: Some("one".to_owned()),
        }
    }

    #[test]
    fn a_redis_that_evicts_is_slow_or_has_another_time_is_told() {
        let whole = Some("noeviction");
        let evicts = Some("allkeys-lru");
        let remedy = "(allkeys-lru): set `maxmemory-policy noeviction`";
        for (eviction, ahead_s, took_ms, state, message) in [
            (whole, 0, 1, State::Good, "forgets nothing"),
            (None, 0, 1, State::Good, "is not told"),
            (evicts, 0, 1, State::Warning, remedy),
            (whole, 3, 1, State::Failed, "3.0 s ahead of this machine's"),
            (whole, -9, 1, State::Failed, "9.0 s behind this machine's"),
            (whole, 0, 150, State::Failed, "took 150 ms for one check"),
        ] {
            let about = about(eviction, ahead_s * 1_000_000, took_ms);
            let found = judge(&about, "redis.internal:6379", &["one".to_owned()]);
            assert_eq!(found.state, state, "{found:?}");
            assert!(found.sentence.contains(message), "{found:?}");
            let begins = "Redis 7.4.1 at redis.internal:6379 ";
            assert!(found.sentence.starts_with(begins), "{found:?}");
        }
    }

    #[test]
    fn another_one_than_running_processes_count_in_is_a_fault() {
        let about = about(Some("noeviction"), 0, 1);
        for (others, state) in [
            (&[][..], State::Good),
            (&["one"], State::Good),
            (&["two"], State::Failed),
            (&["one", "two"], State::Failed),
        ] {
            let others: Vec<_> = others.iter().map(ToString::to_string).collect();
            let found = judge(&about, "h:1", &others);
            assert_eq!(found.state, state, "{found:?}");
        }
    }

    #[test]
    fn its_place_is_named_without_user_and_password() {
        for (url, named) in [
            ("redis://user:hunter2@h:7000/3", "h:7000"),
            ("rediss://:hunter2@redis.internal", "redis.internal:6379"),
            ("redis://[::1]:7000", "[::1]:7000"),
        ] {
            assert_eq!(place(url), named);
        }
    }
}
