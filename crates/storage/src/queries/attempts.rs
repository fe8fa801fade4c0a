//! Sign-in attempts. Each is counted before its password is checked, so that concurrent attempts get no more tries than
//! sequential ones. A success takes its own count back.

use crate::prelude::*;
use crate::schema::sign_in_failures as failures;

/// The most rows that one transaction deletes.
pub(crate) const DELETED_AT_ONCE: i64 = 1_000;

/// The attempts counted under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = failures)]
struct Counted {
    failures: i32,
    blocked_until: Option<Timestamp>,
    ends_at: Timestamp,
}

impl Counted {
    const fn nothing(now: Timestamp) -> Self {
        Self {
            failures: 0,
            blocked_until: None,
            ends_at: now,
        }
    }

    /// Counts one more attempt, or returns the time until which attempts are refused.
    fn one_more(self, most: i32, rule: &AttemptRule, now: Timestamp) -> Result<Self, Timestamp> {
        if let Some(until) = self.blocked_until.filter(|until| *until > now) {
            return Err(until);
        }
        let before = if self.ends_at > now {
            self
        } else {
            Self {
                ends_at: now.plus(rule.window),
                ..Self::nothing(now)
            }
        };
        let failures = before.failures.saturating_add(1);
        let Ok(beyond) = u32::try_from(failures - most) else {
            return Ok(Self { failures, ..before });
        };
        let doubled = 2_u32.saturating_pow(beyond);
        let wait = rule
            .first_wait
            .saturating_mul(doubled)
            .min(rule.longest_wait);
        let until = now.plus(wait);
        Ok(Self {
            failures,
            blocked_until: Some(until),
            // The wait keeps growing until a whole window passes without an attempt.
            ends_at: until.plus(rule.window),
        })
    }

    /// Takes one attempt back that did not fail.
    fn one_less(self) -> Self {
        Self {
            failures: (self.failures - 1).max(0),
            blocked_until: None,
            ends_at: self.ends_at,
        }
    }
}

/// Counts an attempt, or returns the time until which attempts are refused. Then the caller rolls back its writes.
pub(crate) async fn take(
    conn: &mut Conn,
    key: AttemptKey,
    rule: &AttemptRule,
    now: Timestamp,
) -> Result<Result<(), Timestamp>> {
    let before = lock(conn, key.digest, now).await?;
    match before.one_more(key.most, rule, now) {
        Ok(after) => {
            write(conn, key.digest, after).await?;
            Ok(Ok(()))
        }
        Err(until) => Ok(Err(until)),
    }
}

/// Takes back an attempt that succeeded: the whole count of `own`, and one of each `shared` key. `shared` is in the
/// order in which attempts are counted, so that no two transactions deadlock.
pub(crate) async fn take_back(
    conn: &mut Conn,
    own: [u8; 32],
    shared: Vec<[u8; 32]>,
    now: Timestamp,
) -> Result<()> {
    forget(conn, own).await?;
    for digest in shared {
        let before = lock(conn, digest, now).await?;
        write(conn, digest, before.one_less()).await?;
    }
    Ok(())
}

/// Deletes the count of a key.
pub(crate) async fn forget(conn: &mut Conn, digest: [u8; 32]) -> Result<()> {
    diesel::delete(failures::table.find(digest.to_vec()))
        .run(conn)
        .await
}

/// Deletes expired counts. Returns whether there may be more.
pub(crate) async fn forget_old(conn: &mut Conn, now: Timestamp) -> Result<bool> {
    let old: Vec<Vec<u8>> = failures::table
        .filter(failures::ends_at.le(V(now)))
        .order(failures::ends_at)
        .limit(DELETED_AT_ONCE)
        .select(failures::digest)
        .load(conn)
        .await?;
    let has_more = i64::try_from(old.len()).is_ok_and(|found| found == DELETED_AT_ONCE);
    diesel::delete(failures::table)
        .filter(failures::digest.eq_any(old))
        .filter(failures::ends_at.le(V(now)))
        .execute(conn)
        .await?;
    Ok(has_more)
}

/// Reads the count and locks its row.
async fn lock(conn: &mut Conn, digest: [u8; 32], now: Timestamp) -> Result<Counted> {
    let nothing = Counted::nothing(now);
    Ok(diesel::insert_into(failures::table)
        .values(row! { failures of nothing: digest = digest, failures, ends_at })
        .on_conflict(failures::digest)
        .do_update()
        .set(failures::failures.eq(failures::failures))
        .returning(Counted::as_returning())
        .get_result(conn)
        .await?)
}

async fn write(conn: &mut Conn, digest: [u8; 32], counted: Counted) -> Result<()> {
    diesel::update(failures::table.find(digest.to_vec()))
        .set(row! { failures of counted: failures, blocked_until, ends_at })
        .run(conn)
        .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RULE: AttemptRule = AttemptRule {
        window: Duration::from_secs(900),
        first_wait: Duration::from_secs(60),
        longest_wait: Duration::from_secs(900),
    };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(1_777_550_400_000_000).plus(Duration::from_secs(seconds))
    }

    /// Until when each attempt had to wait, in seconds; `None` for a counted attempt.
    fn waits(seconds: &[u64]) -> Vec<Option<i64>> {
        let mut counted = Counted::nothing(at(0));
        let mut waits = Vec::new();
        for now in seconds {
            waits.push(match counted.one_more(3, &RULE, at(*now)) {
                Ok(after) => {
                    counted = after;
                    None
                }
                Err(until) => Some((until.micros() - at(0).micros()) / 1_000_000),
            });
        }
        waits
    }

    #[test]
    fn after_so_many_in_a_window_each_wait_is_twice_as_long_and_none_longer_than_the_longest() {
        let seconds = [0, 1, 2, 3, 61, 62, 181, 182, 421, 422, 901, 902, 1800, 1801];
        let expected = [
            None,
            None,
            None,
            Some(62),
            Some(62),
            None,
            Some(182),
            None,
            Some(422),
            None,
            Some(902),
            None,
            Some(1802),
            Some(1802),
        ];
        assert_eq!(waits(&seconds), expected);
    }

    #[test]
    fn a_window_that_has_ended_is_forgotten_and_one_with_a_wait_ends_a_window_later() {
        assert_eq!(
            waits(&[0, 1, 900, 901, 902]),
            [None, None, None, None, None]
        );
        assert_eq!(
            waits(&[0, 1, 2, 961, 962, 963]),
            [None, None, None, None, Some(1081), Some(1081)]
        );
        assert_eq!(waits(&[0, 1, 2, 962, 963, 964]), [None; 6]);
    }

    #[test]
    fn what_succeeded_is_taken_back_and_blocks_nobody() {
        let mut counted = Counted::nothing(at(0));
        for _ in 0..3 {
            counted = counted.one_more(3, &RULE, at(0)).unwrap();
        }
        let back = counted.one_less();
        assert_eq!((back.failures, back.blocked_until), (2, None));
        assert_eq!(Counted::nothing(at(0)).one_less().failures, 0);
    }
}
