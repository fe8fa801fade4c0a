//! The ledger as a list, auto-refill, months, invoices and daily totals.

use offhook_domain::{
    CallState, EventType, InvoiceStatus, Plan, ThresholdKind, Timestamp, TransactionType,
};
use offhook_storage::{
    Audited, AutoRefill, DeliveryFilter, Endpoint, Invoice, LedgerEntry, LedgerFilter, NewMonth,
    PassedThreshold, Placed, Store, Thresholds, UsageDay,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, entry, event, new_endpoint, node, paged, race, settlement};

pub(crate) fn audited(action: &'static str) -> Audited {
    Audited {
        action,
        target: "for the test".to_owned(),
        at: T0,
    }
}

/// Checks that the ledger adds up, as `offhook doctor` does.
pub(crate) async fn assert_books(shop: &Shop) {
    let books = shop.store.books(shop.account).await.unwrap().unwrap();
    assert_eq!(books.balance, books.ledger_sum, "{books:?}");
    assert_eq!(books.balance, books.newest_balance, "{books:?}");
    assert_eq!(books.last_seq, books.newest_seq, "{books:?}");
    assert_eq!(books.last_seq, books.entries, "{books:?}");
    assert_eq!(books.reserved, books.reservations, "{books:?}");
    assert_eq!(books.debits, books.usage_credits, "{books:?}");
    let ended = (books.usage_conversations, books.ended_conversations);
    assert_eq!(ended.0, ended.1, "{books:?}");
    assert_eq!(books.usage_seconds, books.ended_seconds, "{books:?}");
    assert_eq!(books.first_wrong, None, "{books:?}");
    let wrong = [
        books.idle_reservations,
        books.wrong_budgets,
        books.wrong_costs,
        books.wrong_lines,
        books.wrong_invoices,
    ];
    assert_eq!(wrong, [0; 5], "{books:?}");
}

async fn ledger(shop: &Shop, filter: LedgerFilter, limit: i64) -> Vec<LedgerEntry> {
    let read = async |place| shop.store.ledger(shop.account, filter, place, limit).await;
    paged(
        usize::try_from(limit).unwrap(),
        |entry: &LedgerEntry| entry.seq,
        read,
    )
    .await
}

async fn refill(shop: &Shop, threshold: i64, credits: i64) {
    let refill = AutoRefill {
        threshold,
        credits,
        cents: 980,
    };
    let audited = audited("wallet.auto_refill");
    let set = shop
        .store
        .set_auto_refill(shop.account, Some(refill), audited);
    assert!(set.await.unwrap());
}

async fn refills(shop: &Shop) -> Vec<i64> {
    let filter = LedgerFilter {
        kind: Some(TransactionType::AutoRefill),
        ..LedgerFilter::default()
    };
    let found = ledger(shop, filter, 50).await;
    found.iter().map(|entry| entry.amount_credits).collect()
}

fn month(at: Timestamp, credits: i64, cents: i64) -> NewMonth {
    NewMonth {
        month: at.utc_month(),
        plan: Plan::Pro,
        credits,
        cents,
        at,
    }
}

async fn invoices(shop: &Shop) -> Vec<Invoice> {
    shop.store.invoices(shop.account, None, 50).await.unwrap()
}

contract! {
    async fn the_ledger_lists_newest_first_by_every_filter(store: Store) {
        let shop = Shop::with_credits(&store, 0).await;
        let stranger = Shop::with_credits(&store, 7).await;
        for number in 0..9_u64 {
            let kind = ["purchase", "refund", "manual_credit"][usize::try_from(number % 3).unwrap()];
            let mut new = entry(kind, 1 + i64::try_from(number).unwrap());
            // Two at each instant; the last one's clock is an hour off.
            new.at = after(if number == 8 { 0 } else { number / 2 * 10 });
            store.change_wallet(shop.account, new).await.unwrap();
        }
        let all = ledger(&shop, LedgerFilter::default(), 50).await;
        let numbers: Vec<_> = all.iter().map(|entry| entry.seq).collect();
        assert_eq!(numbers, (1..=9).rev().collect::<Vec<_>>());
        assert_eq!(all[0].created_at, after(30), "no entry is older than the one before");
        assert_eq!(all[0].balance_after_credits, 45);
        let kinds = [None, Some(TransactionType::Refund), Some(TransactionType::Debit)];
        let times = [None, Some(after(0)), Some(after(10)), Some(after(15)), Some(after(30)), Some(after(31))];
        for kind in kinds {
            for since in times {
                for until in times {
                    let filter = LedgerFilter { kind, since, until };
                    let shows = |entry: &&LedgerEntry| {
                        kind.is_none_or(|kind| entry.kind == kind)
                            && since.is_none_or(|since| entry.created_at >= since)
                            && until.is_none_or(|until| entry.created_at <= until)
                    };
                    let expected: Vec<_> = all.iter().filter(shows).cloned().collect();
                    for limit in [1, 2, 50] {
                        assert_eq!(ledger(&shop, filter, limit).await, expected, "{filter:?} by {limit}");
                    }
                }
            }
        }
        assert_eq!(ledger(&stranger, LedgerFilter::default(), 5).await.len(), 1);
    }

    async fn a_reservation_that_takes_the_wallet_below_the_threshold_refills_it_once(store: Store) {
        let shop = Shop::with_credits(&store, 100).await;
        refill(&shop, 95, 500).await;
        assert!(refills(&shop).await.is_empty());
        let placing = race(8, |_| {
            let shop = shop.clone();
            async move { shop.place(T0).await }
        });
        placing.await;
        assert_eq!(refills(&shop).await, [500]);
        assert_eq!(shop.wallet().await, (600, 80));
        let drafts = invoices(&shop).await;
        assert_eq!((drafts.len(), drafts[0].amount_cents), (1, 980));
        assert_eq!(drafts[0].status, InvoiceStatus::Draft);
        let entry = &ledger(&shop, LedgerFilter::default(), 1).await[0];
        assert_eq!(entry.invoice_id, Some(drafts[0].id));
        assert_books(&shop).await;
    }

    async fn a_call_that_only_a_refill_covers_is_taken(store: Store) {
        let shop = Shop::with_credits(&store, 5).await;
        refill(&shop, 1, 4).await;
        let placed = store.place_call(shop.call(T0)).await.unwrap();
        assert_eq!(placed, Placed::WalletTooLow, "9 do not cover 10");
        assert!(refills(&shop).await.is_empty(), "nothing is bought in vain");
        refill(&shop, 1, 5).await;
        shop.place(T0).await;
        // The remaining balance of zero is below the threshold again.
        assert_eq!(refills(&shop).await, [5, 5]);
        assert_books(&shop).await;
    }

    async fn a_settlement_refills_and_an_end_of_auto_refill_ends_it(store: Store) {
        let shop = Shop::with_credits(&store, 20).await;
        let (id, claim) = shop.closing(node()).await;
        refill(&shop, 10, 100).await;
        // It reserved 10 and cost 11.
        let settled = settlement(CallState::Completed, 11);
        store.settle_call((shop.account, id, claim), settled).await.unwrap();
        assert_eq!(refills(&shop).await, [100]);
        assert!(store.set_auto_refill(shop.account, None, audited("wallet.auto_refill")).await.unwrap());
        let debit = entry("manual_debit", -105);
        let balance = store.credit_wallet(shop.account, debit, None, audited("wallet.credit")).await;
        assert_eq!(balance.unwrap(), Some(4));
        let debit = entry("manual_debit", -5);
        let refused = store.credit_wallet(shop.account, debit, None, audited("wallet.credit")).await;
        assert_eq!(refused.unwrap(), None, "not covered");
        assert_books(&shop).await;
    }

    async fn a_debit_that_is_not_covered_buys_nothing(store: Store) {
        let shop = Shop::with_credits(&store, 20).await;
        refill(&shop, 10, 100).await;
        let debit = entry("manual_debit", -21);
        let refused = store.credit_wallet(shop.account, debit, None, audited("wallet.credit")).await;
        assert_eq!(refused.unwrap(), None);
        assert_eq!(refills(&shop).await, [0_i64; 0]);
        let debit = entry("manual_debit", -20);
        let balance = store.credit_wallet(shop.account, debit, None, audited("wallet.credit")).await;
        assert_eq!(balance.unwrap(), Some(100), "covered, and then the wallet is refilled");
        assert_books(&shop).await;
    }

    async fn a_month_is_entered_once_and_issues_the_one_before(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::with_credits(&store, 0).await;
        let next = Timestamp::of_utc_month(T0.utc_month() + 1);
        let due = store.months_due(T0.utc_month(), None, 10).await.unwrap();
        assert_eq!(due.iter().map(|(account, last)| (account.id, *last)).collect::<Vec<_>>(), [(shop.account, None)]);
        for (at, balance) in [(T0, 0), (next, 250)] {
            let entered = race(4, |_| {
                let (store, account, new) = (store.clone(), shop.account, month(at, balance, 19_900));
                async move { store.enter_month(account, new).await.unwrap() }
            });
            assert_eq!(entered.await.iter().filter(|entered| **entered).count(), 1);
            assert_eq!(shop.wallet().await.0, balance);
        }
        let due = store.months_due(next.utc_month(), None, 10).await.unwrap();
        assert!(due.is_empty());
        let all = invoices(&shop).await;
        let said: Vec<_> = all.iter().map(|invoice| (invoice.month - T0.utc_month(), invoice.status, invoice.issued_at)).collect();
        assert_eq!(said, [(1, InvoiceStatus::Draft, None), (0, InvoiceStatus::Open, Some(next))]);
        // A purchase dated in an invoiced month is billed with the next.
        let late = store.credit_wallet(shop.account, entry("purchase", 10), Some(98), audited("wallet.credit")).await;
        assert_eq!(late.unwrap(), Some(260));
        assert_eq!(invoices(&shop).await[0].amount_cents, 19_998);

        let paid = store.mark_invoice(all[1].id, InvoiceStatus::Paid, audited("invoice.mark")).await.unwrap();
        let (paid, moved) = paid.unwrap();
        assert_eq!((paid.status, moved), (InvoiceStatus::Paid, true));
        let again = store.mark_invoice(all[1].id, InvoiceStatus::Void, audited("invoice.mark")).await.unwrap();
        assert_eq!(again.map(|(invoice, moved)| (invoice.status, moved)), Some((InvoiceStatus::Paid, false)));
        let (_, lines) = store.invoice(shop.account, all[1].id).await.unwrap().unwrap();
        assert_eq!(lines.len(), 1);
        let stranger = Shop::with_credits(&store, 0).await;
        assert!(store.invoice(stranger.account, all[1].id).await.unwrap().is_none());
        assert!(invoices(&stranger).await.is_empty());
        assert_books(&shop).await;
        let audits = Raw::open(&database).await.count("audit_log WHERE action = 'invoice.mark'").await;
        assert_eq!(audits, 1);
    }

    async fn a_conversation_counts_on_the_day_that_it_began_once_it_has_ended(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.closing(node()).await;
        shop.place(T0).await;
        let day = T0.utc_day();
        assert!(store.usage(shop.account, day - 400, day + 400).await.unwrap().is_empty());
        for _ in 0..2 {
            let settled = settlement(CallState::Completed, 7);
            store.settle_call((shop.account, id, claim), settled).await.unwrap();
        }
        let ended = settlement(CallState::Failed, 0);
        let late = shop.place(after(86_400)).await;
        store.end_queued_call((shop.account, late), crate::it::shop::CANCELLED, ended).await.unwrap();
        let totals = store.usage(shop.account, day, day + 1).await.unwrap();
        let first = UsageDay { day, calls: 1, conversations: 1, duration_seconds: 42, credits: 7 };
        let second = UsageDay { day: day + 1, calls: 1, conversations: 1, ..UsageDay::default() };
        assert_eq!(totals, [first, second]);
        assert_eq!(store.usage(shop.account, day + 1, day + 1).await.unwrap(), [second]);
        assert_books(&shop).await;
    }

    async fn a_threshold_is_passed_once_a_month_also_when_processes_race(store: Store) {
        let shop = Shop::with_credits(&store, 100).await;
        let (id, claim) = shop.closing(node()).await;
        let settled = settlement(CallState::Completed, 7);
        store.settle_call((shop.account, id, claim), settled).await.unwrap();
        let thresholds = Thresholds { spent: Some(7), spent_2: Some(8), spent_3: None, balance: Some(94) };
        store.set_thresholds(shop.account, thresholds).await.unwrap();
        let listening = Endpoint {
            events: Some([EventType::BillingThreshold].into_iter().collect()),
            ..new_endpoint(shop.account, T0)
        };
        for endpoint in [listening.clone(), new_endpoint(shop.account, T0)] {
            assert!(store.create_endpoint(endpoint, "s", "s", 9).await.unwrap());
        }
        let month = T0.utc_month();
        let passed = store.passed_thresholds(month, 9).await.unwrap();
        let of = |kind, credits| PassedThreshold {
            account_id: shop.account, kind, credits, spent: 7, balance: 93,
        };
        assert_eq!(passed, [of(ThresholdKind::Balance, 94), of(ThresholdKind::Spent, 7)]);
        let told = race(4, |_| {
            let (store, passed) = (store.clone(), passed[1]);
            async move {
                let event = event(EventType::BillingThreshold, after(50));
                store.pass_threshold(passed, month, event, after(50)).await.unwrap()
            }
        }).await;
        assert_eq!(told.into_iter().filter(|is_first| *is_first).count(), 1);
        assert_eq!(store.passed_thresholds(month, 9).await.unwrap(), [of(ThresholdKind::Balance, 94)]);
        let sent = store.deliveries(shop.account, DeliveryFilter::default(), None, 9).await.unwrap();
        let sent: Vec<_> = sent.iter().map(|sent| (sent.endpoint_id, sent.kind)).collect();
        assert_eq!(sent, [(listening.id, EventType::BillingThreshold)]);
        // The next month costs nothing yet, and the balance is still low.
        let next = store.passed_thresholds(month + 1, 9).await.unwrap();
        let low = PassedThreshold { spent: 0, ..of(ThresholdKind::Balance, 94) };
        assert_eq!(next, [low]);
    }
}
