//! Obeys requests to hang up.

use offhook_engine::EndRequest;

use crate::prelude::*;
use crate::workers::Turns;

/// Ends calls whose hangup was requested on any node.
pub(crate) async fn obey_hangups(runner: Arc<Runner>, stop: CancellationToken) {
    let mut turns = Turns::new(runner.calls.looks.hangups, &stop);
    while turns.next().await {
        if runner.live.registry.len() == 0 {
            continue;
        }
        // An outage passes; the request stays in the row.
        for id in runner.store.hangups(runner.node).await.unwrap_or_default() {
            runner.live.registry.end(id, EndRequest::ApiHangup);
        }
    }
}
