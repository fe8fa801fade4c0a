//! Periodic work that one process at a time does.

use std::time::Duration;

use offhook_testkit::{TestDatabase, contract};

use crate::it::shop::{node, pass};

const JOB: &str = "sweep";
const HOUR: Duration = Duration::from_secs(3_600);

contract! {
    async fn a_job_is_one_processes_until_it_is_done_or_its_lease_runs_out(database: TestDatabase) {
        let store = database.open().await;
        let (one, other) = (node(), node());
        let now = pass(&store, 0);
        assert!(store.take_job(JOB, one, now).await.unwrap());
        assert!(!store.take_job(JOB, other, now).await.unwrap());
        let now = pass(&store, 40);
        assert!(store.take_job(JOB, one, now).await.unwrap(), "renewed");
        let now = pass(&store, 80);
        assert!(!store.take_job(JOB, other, now).await.unwrap());
        let now = pass(&store, 90);
        assert!(store.take_job(JOB, other, now).await.unwrap(), "lost");
        assert!(!store.take_job(JOB, one, now).await.unwrap());
        // A process cannot release another process's job.
        store.finish_job(JOB, one, now, HOUR).await.unwrap();
        assert!(store.take_job(JOB, other, now).await.unwrap());
    }

    async fn a_job_that_is_done_rests_until_it_is_due_again(database: TestDatabase) {
        let store = database.open().await;
        let (one, other) = (node(), node());
        let now = pass(&store, 0);
        assert!(store.take_job(JOB, one, now).await.unwrap());
        store.finish_job(JOB, one, now, HOUR).await.unwrap();
        let now = pass(&store, 3_590);
        assert!(!store.take_job(JOB, one, now).await.unwrap());
        assert!(!store.take_job(JOB, other, now).await.unwrap());
        assert!(store.take_job("another", other, now).await.unwrap());
        let now = pass(&store, 3_610);
        assert!(store.take_job(JOB, other, now).await.unwrap());
    }
}
