use std::time::Duration;

use offhook_domain::{AccountId, EndpointId, EventType, Timestamp};
use offhook_storage::{ClaimedAttempt, DueEndpoint, Rechecked, mint};
use tokio::time::Instant;

use super::{ACCOUNT_WINDOW, Checked, FRESH, Lanes, PATIENCE, Started};

const NOW: Timestamp = Timestamp::from_micros(1_777_000_000_000_000);
const QUICK: Duration = Duration::from_millis(5);

#[test]
fn after_the_last_due_retry_the_next_one_is_polled() {
    let (account, endpoint) = (mint(NOW), mint(NOW));
    let at = Instant::now();
    let checked = Checked { at, changes: 0 };
    let mut lanes = Lanes::new(8);
    let look = |lanes: &mut Lanes, wait| {
        let due = DueEndpoint {
            endpoint,
            first: false,
            retry: Some(wait),
        };
        lanes.update_due(vec![due], Vec::new(), at);
        lanes.plan(at)
    };
    let plan = look(&mut lanes, Duration::ZERO);
    // One was due, more were requested: only the database knows when the others are due.
    assert!(plan.size() > 1);
    assert!(lanes.claimed(&plan, vec![attempt(endpoint, account, 2)], checked));
    assert_eq!(lanes.plan(at).next_due, None);
    let plan = look(&mut lanes, QUICK);
    assert_eq!(plan.next_due, Some(at + QUICK));
    let first = Lanes::new(8).claimed(&plan, vec![attempt(endpoint, account, 1)], checked);
    assert!(!first);
}

/// Lanes with an endless supply: every claim returns all that it requests.
struct Rig {
    lanes: Lanes,
    at: Instant,
    /// Endpoints with their account and the number of their due attempts.
    endpoints: Vec<(EndpointId, AccountId, i32)>,
}

impl Rig {
    fn new(most: usize) -> Self {
        Self {
            lanes: Lanes::new(most),
            at: Instant::now(),
            endpoints: Vec::new(),
        }
    }

    fn endpoint(&mut self, account: AccountId, number: i32) -> EndpointId {
        let id = mint(NOW);
        self.endpoints.push((id, account, number));
        id
    }

    /// Polls, starts all it can, and claims until nothing is left to claim.
    fn begin(&mut self) -> Vec<Started> {
        self.poll();
        let mut started = Vec::new();
        loop {
            started.extend(std::iter::from_fn(|| self.lanes.next(None, self.at)));
            let plan = self.lanes.plan(self.at);
            if plan.size() == 0 {
                return started;
            }
            let claimed = plan.slots.iter().flat_map(|slots| {
                let (_, account, number) = self.known(slots.endpoint);
                let count = match number {
                    0 => slots.resends,
                    1 => slots.firsts,
                    _ => slots.retries,
                };
                (0..count).map(move |_| attempt(slots.endpoint, account, number))
            });
            let claimed = claimed.collect();
            let checked = Checked {
                at: self.at,
                changes: 0,
            };
            self.lanes.claimed(&plan, claimed, checked);
        }
    }

    fn poll(&mut self) {
        let due = |first| {
            self.endpoints
                .iter()
                .filter(move |(_, _, number)| *number > 0 && (*number == 1) == first)
        };
        let firsts = due(true).map(|(endpoint, ..)| DueEndpoint {
            endpoint: *endpoint,
            first: true,
            retry: None,
        });
        let retries = due(false).map(|(endpoint, ..)| DueEndpoint {
            endpoint: *endpoint,
            first: false,
            retry: Some(Duration::ZERO),
        });
        let resends = self.endpoints.iter().filter(|(_, _, number)| *number == 0);
        let resends = resends.map(|(endpoint, ..)| *endpoint).collect();
        let due = firsts.chain(retries).collect();
        self.lanes.update_due(due, resends, self.at);
    }

    fn known(&self, endpoint: EndpointId) -> (EndpointId, AccountId, i32) {
        let known = self.endpoints.iter().find(|(id, ..)| *id == endpoint);
        *known.unwrap()
    }

    /// Ends attempts without starting others in their place.
    fn end(&mut self, started: &[Started], success: bool) {
        for Started { slot, .. } in started {
            self.lanes.ended(slot, success, QUICK);
        }
    }

    /// Makes an endpoint succeed exactly `times` times, and leaves nothing waiting.
    fn prove(&mut self, endpoint: EndpointId, times: usize) {
        let mut left = times;
        while left > 0 {
            let started = self.begin();
            assert!(started.iter().all(|s| s.slot.endpoint == endpoint));
            let proof = started.len().min(left);
            self.end(&started[..proof], true);
            for other in &started[proof..] {
                self.lanes.broken(&other.slot);
            }
            left -= proof;
        }
        self.lanes.drain_returned(self.at, true);
    }
}

fn attempt(endpoint: EndpointId, account: AccountId, number: i32) -> ClaimedAttempt {
    ClaimedAttempt {
        claim_id: mint(NOW),
        attempt_id: mint(NOW),
        delivery_id: mint(NOW),
        endpoint_id: endpoint,
        account_id: account,
        number,
        event_id: mint(NOW),
        kind: EventType::CallCompleted,
        body: Vec::new(),
        url: String::new(),
        secrets: Vec::new(),
    }
}

#[test]
fn an_endpoint_has_8_under_way_until_it_has_shown_that_it_can_take_more() {
    let mut rig = Rig::new(512);
    let endpoint = rig.endpoint(mint(NOW), 1);
    for window in [8, 16, 32, 64, 64] {
        let started = rig.begin();
        assert_eq!(started.len(), window);
        for started in &started {
            rig.lanes.broken(&started.slot);
        }
        rig.prove(endpoint, 100);
    }
    let mut started = rig.begin();
    assert_eq!(started.len(), 64);
    let failed = started.split_off(63);
    rig.end(&failed, false);
    rig.end(&started[..56], true);
    // Seven are still in flight.
    assert_eq!(rig.begin().len(), 1);
}

#[test]
fn a_quarter_of_the_slots_is_kept_for_first_attempts() {
    let mut rig = Rig::new(512);
    let account = mint(NOW);
    rig.endpoint(account, 2);
    assert_eq!(rig.begin().len(), 6);
    let mut rig = Rig::new(512);
    rig.endpoint(account, 0);
    assert_eq!(rig.begin().len(), 2);
}

#[test]
fn an_account_has_64_under_way_and_its_dead_endpoints_half_of_them() {
    let mut rig = Rig::new(512);
    let account = mint(NOW);
    let healthy = rig.endpoint(account, 1);
    rig.prove(healthy, 700);
    for _ in 0..19 {
        rig.endpoint(account, 1);
    }
    rig.endpoints.retain(|(id, ..)| *id != healthy);
    let dead = rig.begin();
    // Each of them has at least one.
    let mut endpoints: Vec<_> = dead.iter().map(|s| s.slot.endpoint).collect();
    endpoints.sort_unstable();
    endpoints.dedup();
    assert_eq!(endpoints.len(), 19);
    assert!(dead.len() <= ACCOUNT_WINDOW * 3 / 4, "{}", dead.len());
    rig.endpoints.push((healthy, account, 1));
    let begun = rig.begin();
    assert!(begun.iter().all(|s| s.slot.endpoint == healthy));
    assert_eq!(begun.len(), ACCOUNT_WINDOW - dead.len());
}

#[test]
fn a_thousand_dead_endpoints_leave_a_quarter_of_the_process_to_the_healthy() {
    let mut rig = Rig::new(512);
    let healthy = rig.endpoint(mint(NOW), 1);
    rig.prove(healthy, 1);
    rig.endpoints.clear();
    for _ in 0..1_000 {
        rig.endpoint(mint(NOW), 1);
    }
    let dead = rig.begin();
    assert!(dead.len() >= 256 && dead.len() <= 384, "{}", dead.len());
    rig.endpoints.push((healthy, mint(NOW), 1));
    assert_eq!(rig.begin().len(), 8);
    // The dead ones take turns.
    let first: Vec<_> = dead.iter().map(|s| s.slot.endpoint).collect();
    rig.at += Duration::from_secs(10);
    rig.end(&dead, false);
    let next = rig.begin();
    assert!(next.iter().any(|s| !first.contains(&s.slot.endpoint)));
}

#[test]
fn a_check_expires_after_half_a_second_or_with_a_change() {
    let (at, changes) = (Instant::now(), 3);
    let checked = Checked { at, changes };
    assert!(checked.is_fresh(at, changes));
    assert!(!checked.is_fresh(at, changes + 1));
    assert!(!checked.is_fresh(at + FRESH, changes));
}

#[test]
fn a_recheck_returns_attempts_that_are_gone_and_sends_the_rest_to_the_new_url() {
    let mut rig = Rig::new(512);
    let endpoint = rig.endpoint(mint(NOW), 1);
    rig.prove(endpoint, 1);
    rig.begin();
    let asked = rig.lanes.waiting(endpoint);
    assert_eq!(asked.len(), rig.lanes.queued);
    let rechecked = Rechecked {
        url: "https://new.example.com/".to_owned(),
        secrets: vec!["whsec_new".to_owned()],
        in_force: vec![asked[1].attempt_id],
    };
    let checked = Checked {
        at: rig.at,
        changes: 1,
    };
    rig.lanes.rechecked(endpoint, &asked, &rechecked, checked);
    assert_eq!(rig.lanes.waiting(endpoint), [asked[1]]);
    assert_eq!(rig.lanes.queued, 1);
    let gone = rig.lanes.drain_returned(rig.at, false);
    assert_eq!(gone.len(), asked.len() - 1);
    let kept = rig.lanes.drain_returned(rig.at, true);
    assert_eq!(
        (&*kept[0].url, &*kept[0].secrets[0]),
        ("https://new.example.com/", "whsec_new")
    );
}

#[test]
fn what_waits_for_20_seconds_is_given_back_and_never_begun() {
    let mut rig = Rig::new(512);
    let endpoint = rig.endpoint(mint(NOW), 1);
    rig.prove(endpoint, 1);
    let started = rig.begin();
    let waiting = rig.lanes.queued;
    assert!(waiting > 0);
    rig.at += PATIENCE;
    rig.end(&started[..1], true);
    assert!(rig.lanes.next(Some(endpoint), rig.at).is_none());
    assert_eq!(rig.lanes.drain_returned(rig.at, false).len(), waiting);
    assert_eq!(rig.lanes.queued, 0);
}
