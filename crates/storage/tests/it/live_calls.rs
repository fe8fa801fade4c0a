//! Live calls are found without scanning text conversations, many of which may stay open for hours.

use offhook_testkit::{TestDatabase, contract};

use crate::it::plans::Recorder;
use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, node};

const OPEN_CHATS: i64 = 5_000;

/// Writes open text conversations of the shop's agent.
pub(crate) async fn chat(raw: &mut Raw, shop: &Shop) {
    let new_id = match raw {
        Raw::Sqlite(_) => "randomblob(16)",
        Raw::Postgres(_) => "gen_random_uuid()",
    };
    let (account, agent) = (raw.id(shop.account.uuid()), raw.id(shop.agent.uuid()));
    let at = raw.at(T0);
    raw.run(&format!(
        "INSERT INTO conversations (id, account_id, agent_id, agent_ref, agent_version, runtime, channel, voice, \
           state, status, metadata, price_millicredits, started_at, has_audio, messages_count, last_seq, \
           hangup_requested) \
         WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {OPEN_CHATS}) \
         SELECT {new_id}, {account}, {agent}, '', 1, 'engine', 'whatsapp', false, 'live', 'unknown', '{{}}', 0, {at}, \
           false, 0, 1, false FROM series; \
         ANALYZE"
    ))
    .await;
}

/// Runs every query for live calls.
async fn look(shop: &Shop) {
    let store = &shop.store;
    assert_eq!(
        store.calls_under_way(shop.account, 10).await.unwrap().len(),
        2
    );
    assert_eq!(store.live_calls(shop.account).await.unwrap(), 2);
    store.take_orphans(false, 10, node(), T0).await.unwrap();
}

/// The statements of [`look`] that read conversations.
async fn statements(recorder: &Recorder, shop: &Shop) -> Vec<String> {
    recorder.take();
    look(shop).await;
    let mut statements = recorder.take();
    statements.retain(|sent| sent.starts_with("SELECT") && sent.contains("conversations"));
    assert!(statements.len() >= 3, "{statements:?}");
    statements
}

contract! {
    async fn the_entries_of_calls_under_way_are_of_calls_alone(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        shop.live(node()).await;
        shop.live(node()).await;
        let mut raw = Raw::open(&database).await;
        chat(&mut raw, &shop).await;
        let entries = match raw {
            Raw::Sqlite(_) => "SELECT stat AS line FROM sqlite_stat1 WHERE idx = 'conversations_claims'",
            Raw::Postgres(_) => {
                "SELECT reltuples::bigint || ' ' AS line FROM pg_class WHERE relname = 'conversations_claims'"
            }
        };
        let entries = raw.line(entries).await;
        assert!(entries.starts_with("2 "), "{entries}");
        look(&shop).await;
    }
}

mod only_sqlite {
    use super::*;
    use crate::it::plans::only_sqlite::plan;

    #[tokio::test(flavor = "multi_thread")]
    async fn open_chats_are_not_walked_for_live_calls() {
        let database = TestDatabase::sqlite();
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        shop.live(node()).await;
        shop.live(node()).await;
        let mut raw = Raw::open(&database).await;
        chat(&mut raw, &shop).await;
        for statement in statements(&recorder, &shop).await {
            let plan = plan(&mut raw, &statement);
            let of_calls: Vec<&String> = plan
                .iter()
                .filter(|step| step.contains(" conversations"))
                .collect();
            let is_found = of_calls
                .iter()
                .all(|step| step.contains("INDEX conversations_claims"));
            assert!(is_found && !of_calls.is_empty(), "{plan:?}\n{statement}");
        }
    }
}

mod only_postgres {
    use super::*;
    use crate::it::plans::only_postgres::with_values;

    /// The number of rows that were read but are not in the result.
    fn passed_over(plan: &str) -> u32 {
        let removed = plan
            .lines()
            .filter_map(|line| line.split_once("Rows Removed by Filter: "));
        removed
            .map(|(_, rows)| rows.trim().parse::<u32>().unwrap())
            .sum()
    }

    /// Needs a single thread, so that the pool opens its connections where the recorder began.
    #[tokio::test]
    #[ignore = "needs PostgreSQL: just test"]
    async fn open_chats_are_not_walked_for_live_calls() {
        let database = TestDatabase::postgres().await;
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        shop.live(node()).await;
        shop.live(node()).await;
        let mut raw = Raw::open(&database).await;
        chat(&mut raw, &shop).await;
        for statement in statements(&recorder, &shop).await {
            let accounts = "ARRAY(SELECT id FROM accounts)";
            let sql = with_values(&statement).replace("(an array)", accounts);
            let plan = raw
                .lines(&format!("EXPLAIN (ANALYZE, TIMING OFF) {sql}"))
                .await;
            let plan = plan.join("\n");
            let is_found = plan.contains("conversations_claims")
                && !plan.contains("Seq Scan on conversations");
            assert!(is_found && passed_over(&plan) <= 2, "{plan}\n{sql}");
        }
    }
}
