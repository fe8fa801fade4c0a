//! Units of work: how they reach their thread or connection, and their metrics.

use std::any::Any;
use std::time::Instant;

use futures_util::future::BoxFuture;
use offhook_metrics::metrics;

use crate::database::Conn;
use crate::{Result, StoreError, Verdict};

/// Counts the result of a unit of work, a `read` or a `write`, and returns it. Units whose caller has gone away are not
/// counted.
pub(crate) fn counted<T>(kind: &'static str, began: Instant, done: Result<T>) -> Result<T> {
    let database = &metrics().database;
    database.worked(kind, began.elapsed());
    if let Err(error) = &done {
        database.failed(error.kind());
    }
    done
}

/// The result of a unit of work, with its type erased.
pub(crate) type AnyAnswer = Box<dyn Any + Send>;

/// A unit of work with its type erased: the threads, tasks and transactions that run it are compiled once, not for each
/// of the store's methods.
pub(crate) type Work =
    Box<dyn for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<Verdict<AnyAnswer>>> + Send>;

/// Erases the type of a unit of work that decides whether to commit.
pub(crate) fn judging<T, F>(work: F) -> Work
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<Verdict<T>>> + Send + 'static,
{
    Box::new(move |conn| judged(work(conn)))
}

fn judged<T: Send + 'static>(
    done: BoxFuture<'_, Result<Verdict<T>>>,
) -> BoxFuture<'_, Result<Verdict<AnyAnswer>>> {
    Box::pin(async move {
        Ok(match done.await? {
            Verdict::Commit(value) => Verdict::Commit(Box::new(value) as AnyAnswer),
            Verdict::Rollback(value) => Verdict::Rollback(Box::new(value) as AnyAnswer),
        })
    })
}

/// Erases the type of a unit of work that writes nothing, or always commits.
pub(crate) fn certain<T, F>(work: F) -> Work
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T>> + Send + 'static,
{
    Box::new(move |conn| kept(work(conn)))
}

fn kept<T: Send + 'static>(
    done: BoxFuture<'_, Result<T>>,
) -> BoxFuture<'_, Result<Verdict<AnyAnswer>>> {
    Box::pin(async move { Ok(Verdict::Commit(Box::new(done.await?) as AnyAnswer)) })
}

/// The result with its type again.
pub(crate) fn answered<T: 'static>(answer: Result<AnyAnswer>) -> Result<T> {
    let answer = answer?.downcast::<T>();
    answer
        .map(|answer| *answer)
        .map_err(|_| StoreError::Internal("a unit of work answered something else".into()))
}
