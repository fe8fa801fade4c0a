//! Thousands of calls in one process.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_carriers::Simulator;
use offhook_engine::CallControl;
use offhook_engine::ports::Carrier;
use tokio::time::sleep;

use crate::it::calls::{FRIEND, models, persona, request, run, session};

const CALLS: u16 = 3_000;

#[tokio::test(start_paused = true)]
async fn three_thousand_calls_talk_at_once_and_each_costs_little() {
    let simulator = Simulator::new(1.0);
    let (persona, models) = (Arc::new(persona()), models());
    let before = resident_bytes();
    let calls: Vec<_> = (0..CALLS)
        .map(|n| {
            let carrier: Arc<dyn Carrier> = Arc::new(simulator.clone());
            let (persona, models) = (Arc::clone(&persona), Arc::clone(&models));
            let session = session(carrier, request(n, FRIEND), persona, models);
            tokio::spawn(async move { run(session, &CallControl::new()).await })
        })
        .collect();
    sleep(Duration::from_secs(12)).await;
    assert_eq!(simulator.live(), usize::from(CALLS));
    if let (Some(before), Some(now)) = (before, resident_bytes()) {
        let each = now.saturating_sub(before) / usize::from(CALLS);
        assert!(each < 64 * 1024, "{each} bytes a call");
    }
    let told = join_all(calls).await;
    let first = told[0].as_ref().unwrap();
    assert_eq!(first.script.len(), 9);
    assert!(told.iter().all(|told| told.as_ref().unwrap() == first));
    assert_eq!(simulator.dials().len(), usize::from(CALLS));
}

/// The memory of this process; `None` if the system does not report it.
fn resident_bytes() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4_096)
}
