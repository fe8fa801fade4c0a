//! An agent's actions on a line other than speaking.

use std::sync::Arc;
use std::time::Duration;

use offhook_carriers::Simulator;
use offhook_engine::ports::{Carrier, Leg, LegEvent, LineError};
use tokio::time::timeout;

use crate::it::calls::{FRIEND, handle, number, request};
use crate::it::remote;

const SPEED: f64 = 40.0;

async fn answered(carrier: &Arc<dyn Carrier>, n: u16) -> Leg {
    let dialed = carrier.dial(request(n, FRIEND)).await;
    let mut leg = dialed.unwrap();
    let answer = async {
        while !matches!(
            leg.events.recv().await,
            Some(LegEvent::Answered { .. }) | None
        ) {}
    };
    assert!(timeout(Duration::from_secs(20), answer).await.is_ok());
    leg
}

async fn gone(leg: &mut Leg) {
    let end = async { while leg.events.recv().await.is_some() {} };
    assert!(timeout(Duration::from_secs(20), end).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn digits_leave_the_call_as_it_is_and_a_transfer_ends_it() {
    let simulator = Simulator::new(SPEED);
    let (url, _server) = remote::start(None).await;
    let carriers: [Arc<dyn Carrier>; 2] =
        [Arc::new(simulator.clone()), Arc::new(remote::client(&url))];
    let target = number("+5215598765432");
    for carrier in &carriers {
        let mut leg = answered(carrier, 1).await;
        assert_eq!(leg.line.send_digits("1w2#").await, Ok(()));
        assert_eq!(leg.line.transfer(&target).await, Ok(()));
        gone(&mut leg).await;
        assert_eq!(leg.line.transfer(&target).await, Err(LineError::Gone));
        assert_eq!(leg.line.send_digits("3").await, Err(LineError::Gone));
        leg.line.hang_up().await;
    }
    assert_eq!(simulator.digits(), [(handle(1), "1w2#".to_owned())]);
    assert_eq!(simulator.transfers(), [(handle(1), target)]);
    remote::until(&url, remote::NONE_LIVE).await;
}
