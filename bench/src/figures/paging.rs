//! A page among many rows beside the first page among few, at the store: what HTTP adds would hide the rest.

use anyhow::ensure;
use offhook_domain::AccountId;
use offhook_storage::{BenchList, Store};

use crate::pairs::median;
use crate::report::number;

/// Rows of a page.
const LIMIT: i64 = 20;
/// Rounds in which each page is read.
const ROUNDS: usize = 31;
/// Times that a page is read in a round, on one connection: alone an empty page takes about 10 µs, and whether the thread
/// that reads it must be woken on a sleeping processor is 3 µs of luck that would be the figure.
const TIMES: u32 = 16;
/// A page that takes so many microseconds is no matter of luck: it is read in this many rounds, once each.
const SLOW_US: f64 = 5_000.0;
const SLOW_ROUNDS: usize = 5;

/// A page of a store.
pub(super) struct Reading<'a> {
    pub(super) store: &'a Store,
    pub(super) account: AccountId,
    pub(super) list: BenchList,
}

impl Reading<'_> {
    /// Reads it so often; how long each took in microseconds, and how many rows it has.
    async fn read(&self, times: u32) -> anyhow::Result<(f64, usize)> {
        let list = self.list.clone();
        let read = self.store.bench_page(self.account, list, LIMIT, times);
        let (took, rows) = read.await?;
        Ok((took.as_secs_f64() * 1e6 / f64::from(times), rows))
    }
}

/// What came of a comparison.
pub(super) struct Measured {
    name: String,
    pub(super) ratio: f64,
    many_us: f64,
    few_us: f64,
}

impl Measured {
    /// For the table.
    pub(super) fn words(&self) -> String {
        let (many, few) = (number(self.many_us), number(self.few_us));
        format!(
            "{}: {} = {many} µs / {few} µs",
            self.name,
            number(self.ratio)
        )
    }
}

/// Compares the first page among many, and a deep one if there is one, with the first page among few, which has as many
/// rows.
pub(super) async fn compare(
    name: &str,
    few: &Reading<'_>,
    first: &Reading<'_>,
    deep: Option<&Reading<'_>>,
) -> anyhow::Result<Vec<Measured>> {
    // Warms all of them up.
    let (few_us, few_rows) = few.read(1).await?;
    let (mut slowest, many_rows) = first.read(1).await?;
    ensure!(
        few_rows == many_rows,
        "{name}: {few_rows} rows among few and {many_rows} among many cannot be compared"
    );
    if let Some(deep) = deep {
        let (deep_us, rows) = deep.read(1).await?;
        ensure!(rows == many_rows, "{name}: a deep page of {rows} rows");
        slowest = slowest.max(deep_us);
    }
    let (rounds, times) = match slowest.max(few_us) > SLOW_US {
        true => (SLOW_ROUNDS, 1),
        false => (ROUNDS, TIMES),
    };
    let (mut of_first, mut of_deep, mut of_few) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        of_few.push(few.read(times).await?.0);
        of_first.push(first.read(times).await?.0);
        if let Some(deep) = deep {
            of_deep.push(deep.read(times).await?.0);
        }
    }
    let few_us = median(of_few);
    let measured = |page: &str, times: Vec<f64>| {
        let many_us = median(times);
        Measured {
            name: format!("{name}, {page} page"),
            ratio: many_us / few_us,
            many_us,
            few_us,
        }
    };
    let mut all = vec![measured("first", of_first)];
    if !of_deep.is_empty() {
        all.push(measured("deep", of_deep));
    }
    Ok(all)
}
