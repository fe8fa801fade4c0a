//! Keeps a call covered by the wallet while it lasts.

use offhook_engine::{CallControl, EndRequest};
use tokio::time::{Instant, sleep, sleep_until};

use crate::Result;
use crate::calls::RESERVED_SECONDS;
use crate::conversations::reserve_more;
use crate::prelude::*;
use crate::talks::HELD_SECONDS;
use crate::widgets::count_credits;

/// Seconds that a top-up adds.
const TOP_UP_SECONDS: i64 = 60;

/// How long before the held seconds run out a top-up starts.
const TOP_UP_AHEAD: Duration = Duration::from_secs(20);

/// The pause before a retry after a database error.
const AGAIN: Duration = Duration::from_secs(2);

/// Holds more credits when the call lasts longer than what was held at placing. If the wallet has none, the agent says
/// goodbye. Counts from the dialing, so a top-up is never late.
pub(super) async fn top_up(
    runner: &Runner,
    call: &Conversation,
    longest: i64,
    control: &CallControl,
) {
    let price = call.price();
    let covered = match call.is_of_a_page() {
        _ if price.of_seconds(60) == 0 => longest,
        true => HELD_SECONDS,
        false => longest.clamp(60, RESERVED_SECONDS),
    };
    cover(covered, longest, |from, to| {
        reserve(runner, call, price.of_seconds(to) - price.of_seconds(from))
    })
    .await;
    control.end(EndRequest::OutOfCredits);
    std::future::pending::<()>().await;
}

/// Reserves more credits; `false` if the wallet does not cover them or, for a web page's conversation, the widget's
/// daily cap.
async fn reserve(runner: &Runner, call: &Conversation, credits: Credits) -> Result<bool> {
    let (id, at) = (call.id, runner.clock.now());
    let page = call.is_of_a_page().then_some(call.agent_id);
    let reserved = runner.store.transaction(move |mut tx| {
        Box::pin(async move {
            if let Some(agent) = page {
                let counts = tx.lock_widget(agent).await?;
                let counts = counts.ok_or(UseCaseError::Origin)?;
                count_credits(&mut tx, agent, counts, (credits, at)).await?;
            }
            reserve_more(&mut tx, id, credits, at).await
        })
    });
    match reserved.await {
        Ok(()) => Ok(true),
        Err(error) => error.into_store().map_or(Ok(false), Err),
    }
}

/// Covers the seconds one top-up after another, then waits forever. Returns when one is refused. Database errors are
/// retried, for at most one unpaid top-up.
async fn cover<F: Future<Output = Result<bool>>>(
    mut covered: i64,
    longest: i64,
    hold: impl Fn(i64, i64) -> F,
) {
    let began = Instant::now();
    let after = |seconds: i64| began + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    while covered < longest {
        sleep_until(after(covered) - TOP_UP_AHEAD.min(after(covered) - began)).await;
        let next = (covered + TOP_UP_SECONDS).min(longest);
        loop {
            match hold(covered, next).await {
                Ok(false) => return,
                // If it was not held after all, the next top-up shows it.
                Ok(true) | Err(StoreError::UnknownCommit(_)) => break,
                Err(_) if Instant::now() < after(covered + TOP_UP_SECONDS) => sleep(AGAIN).await,
                Err(_) => return,
            }
        }
        covered = next;
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// The seconds at which top-ups were requested, and when covering ended, if within an hour. The next character of
    /// `answers` decides each top-up.
    async fn covered(answers: &str) -> (Vec<u64>, Option<u64>) {
        let (began, asked) = (Instant::now(), RefCell::new(Vec::new()));
        let mut words = answers.chars().cycle();
        let words = RefCell::new(&mut words);
        let call = cover(60, 600, |_, _| {
            asked.borrow_mut().push(began.elapsed().as_secs());
            std::future::ready(match words.borrow_mut().next() {
                Some('y') => Ok(true),
                Some('n') => Ok(false),
                Some('?') => Err(StoreError::UnknownCommit(String::new())),
                _ => Err(StoreError::Internal(String::new())),
            })
        });
        let ended = tokio::time::timeout(Duration::from_secs(3_600), call).await;
        (asked.take(), ended.ok().map(|()| began.elapsed().as_secs()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_covered_ahead_of_time_and_ends_when_it_is_not() {
        let (asked, ended) = covered("y").await;
        assert_eq!(
            (&asked[..3], asked.len(), ended),
            (&[40, 100, 160][..], 9, None)
        );
        assert_eq!(covered("yyn").await, (vec![40, 100, 160], Some(160)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_database_does_not_say_is_asked_again_and_free_for_one_top_up_at_most() {
        assert_eq!(covered("xxyn").await, (vec![40, 42, 44, 100], Some(100)));
        assert_eq!(covered("?n").await, (vec![40, 100], Some(100)));
        let (asked, ended) = covered("x").await;
        assert_eq!((asked[0], asked[1], ended), (40, 42, Some(120)));
    }
}
