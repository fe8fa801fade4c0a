//! What happens in an account: its members, webhooks, money and log.

use offhook_domain::{
    DeliveryId, EndpointId, EventType, KeyId, LogEntryId, MemberId, RequestId, TransactionType,
};
use offhook_storage::{
    BenchList, DeliveryFilter, DeliveryState, LedgerFilter, LogFilter, StatusFilter,
};

use super::{Case, List, Place, Rows};
use crate::sql::{Of, pick, uuid};

pub(super) fn lists() -> Vec<List> {
    vec![
        List {
            name: "team",
            tables: &["members"],
            fill: members,
            cases: || {
                vec![Case {
                    ascending: true,
                    ..Case::new("no filter", 0, |_, _, place| {
                        BenchList::Members(place.map(|p| (p.at, MemberId::from_uuid(p.id))))
                    })
                }]
            },
        },
        List {
            name: "endpoints",
            tables: &["webhook_endpoints", "webhook_secrets"],
            fill: endpoints,
            cases: || {
                vec![Case::new("no filter", 0, |_, _, place| {
                    BenchList::Endpoints(place.map(|p| (p.at, EndpointId::from_uuid(p.id))))
                })]
            },
        },
        List {
            name: "deliveries",
            tables: &["deliveries"],
            fill: deliveries,
            cases: delivery_cases,
        },
        List {
            name: "transactions",
            tables: &["ledger"],
            fill: transactions,
            cases: transaction_cases,
        },
        List {
            name: "invoices",
            tables: &["invoices"],
            fill: invoices,
            cases: || {
                vec![Case::new("no filter", 0, |_, _, place| {
                    let month = |p: Place| i32::try_from(p.number).unwrap_or(i32::MAX);
                    BenchList::Invoices(place.map(month))
                })]
            },
        },
        List {
            name: "logs",
            tables: &["request_logs"],
            fill: logs,
            cases: log_cases,
        },
    ]
}

fn members(rows: Rows) -> String {
    let into = "members (id, account_id, name, email, role, joined_at)";
    rows.of(into, |sql, owner| {
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        format!(
            "{id}, {account}, 'Ana', 'ana' || i || '@example.com', 'viewer', {}",
            owner.at
        )
    })
}

fn endpoints(rows: Rows) -> String {
    let into = "webhook_endpoints (id, account_id, url, status, created_at, updated_at)";
    let endpoints = rows.of(into, |sql, owner| {
        let at = &owner.at;
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        format!("{id}, {account}, 'https://example.com', 'enabled', {at}, {at}")
    });
    let into = "webhook_secrets (id, endpoint_id, prefix, sealed, created_at)";
    let secrets = rows.of(into, |sql, owner| {
        let id = sql.id(Of::Row, "i");
        format!("{id}, {id}, 'whsec_', {}, {}", sql.bytes(), owner.at)
    });
    endpoints + &secrets
}

fn deliveries(rows: Rows) -> String {
    let into = "deliveries (id, account_id, endpoint_id, event_id, event_type, state, attempts_count, abandoned_count, \
                created_at)";
    rows.of(into, |sql, owner| {
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        let endpoint = sql.id(Of::Endpoint, &owner.number);
        let event = sql.id(Of::Event, &owner.number);
        let kind = pick(
            7,
            11,
            ["'call.completed'", "'call.failed'", "'call.initiated'"],
        );
        let state = pick(13, 17, ["'delivered'", "'exhausted'", "'cancelled'"]);
        format!(
            "{id}, {account}, {endpoint}, {event}, {kind}, {state}, 1, 0, {}",
            owner.at
        )
    })
}

fn delivery_cases() -> Vec<Case> {
    const STATES: [DeliveryState; 4] = [
        DeliveryState::Delivered,
        DeliveryState::Exhausted,
        DeliveryState::Cancelled,
        DeliveryState::Pending,
    ];
    const KINDS: [EventType; 3] = [
        EventType::CallCompleted,
        EventType::CallFailed,
        EventType::CallInitiated,
    ];
    fn page(
        state: Option<DeliveryState>,
        kind: Option<EventType>,
        period: Option<Rows>,
        place: Option<Place>,
    ) -> BenchList {
        let filter = DeliveryFilter {
            state,
            kind,
            since: period.map(|rows| rows.at(0.05)),
            until: period.map(|rows| rows.at(0.5)),
        };
        BenchList::Deliveries(filter, place.map(|p| (p.at, DeliveryId::from_uuid(p.id))))
    }
    let mut cases = vec![
        Case::new("no filter", 0, |_, _, place| page(None, None, None, place)),
        Case::new("from and to", 0, |_, rows, place| {
            page(None, None, Some(rows), place)
        }),
    ];
    cases.extend(Case::shares("status", 0..=3, |share, _, place| {
        page(Some(STATES[share]), None, None, place)
    }));
    cases.extend(Case::shares(
        "from and to + status",
        0..=3,
        |share, rows, place| page(Some(STATES[share]), None, Some(rows), place),
    ));
    cases.extend(Case::shares("type", 0..=2, |share, _, place| {
        page(None, Some(KINDS[share]), None, place)
    }));
    cases.extend(Case::shares(
        "from and to + type",
        0..=2,
        |share, rows, place| page(None, Some(KINDS[share]), Some(rows), place),
    ));
    cases.extend(Case::shares(
        "completed + status",
        0..=3,
        |share, _, place| page(Some(STATES[share]), Some(KINDS[0]), None, place),
    ));
    cases.extend(Case::shares(
        "delivered + type",
        0..=2,
        |share, _, place| page(Some(STATES[0]), Some(KINDS[share]), None, place),
    ));
    cases.push(Case::new(
        "status 1 % + type 1 %, none",
        3,
        |_, _, place| page(Some(STATES[1]), Some(KINDS[1]), None, place),
    ));
    cases
}

fn transactions(rows: Rows) -> String {
    let into = "ledger (id, account_id, seq, type, amount_credits, balance_after_credits, description, created_at)";
    rows.of(into, |sql, owner| {
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        let kind = pick(7, 11, ["'debit'", "'purchase'", "'refund'"]);
        format!("{id}, {account}, i, {kind}, -1, 0, 'Call', {}", owner.at)
    })
}

fn transaction_cases() -> Vec<Case> {
    const KINDS: [TransactionType; 4] = [
        TransactionType::Debit,
        TransactionType::Purchase,
        TransactionType::Refund,
        TransactionType::ManualDebit,
    ];
    fn page(
        kind: Option<TransactionType>,
        period: Option<Rows>,
        place: Option<Place>,
    ) -> BenchList {
        let filter = LedgerFilter {
            kind,
            since: period.map(|rows| rows.at(0.05)),
            until: period.map(|rows| rows.at(0.5)),
        };
        BenchList::Transactions(filter, place.map(|p| p.number))
    }
    let mut cases = vec![
        Case::new("no filter", 0, |_, _, place| page(None, None, place)),
        Case::new("from and to", 0, |_, rows, place| {
            page(None, Some(rows), place)
        }),
    ];
    cases.extend(Case::shares("type", 0..=3, |share, _, place| {
        page(Some(KINDS[share]), None, place)
    }));
    cases.extend(Case::shares(
        "from and to + type",
        0..=3,
        |share, rows, place| page(Some(KINDS[share]), Some(rows), place),
    ));
    cases
}

fn invoices(rows: Rows) -> String {
    let into =
        "invoices (id, account_id, month, number, status, amount_cents, lines_count, created_at)";
    rows.of(into, |sql, owner| {
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        format!(
            "{id}, {account}, i, 'INV-' || i, 'paid', 100, 1, {}",
            owner.at
        )
    })
}

fn logs(rows: Rows) -> String {
    let into = "request_logs (id, account_id, request_id, key_id, key_prefix, method, path, status, status_class, ip, \
                duration_ms, created_at)";
    rows.of(into, |sql, owner| {
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        let request = sql.id(Of::Request, "i");
        let keys = [0, 1, 2].map(|number| sql.uuid(uuid(Of::Key, number)));
        let key = pick(3, 5, [&keys[0], &keys[1], &keys[2]]);
        let method = pick(7, 11, ["'GET'", "'POST'", "'DELETE'"]);
        let path = pick(19, 23, ["'/v1/calls'", "'/v1/agents'", "'/v1/me'"]);
        let (status, class) = (pick(13, 17, ["200", "404", "500"]), pick(13, 17, ["2", "4", "5"]));
        format!(
            "{id}, {account}, {request}, {key}, 'prefix', {method}, {path}, {status}, {class}, '203.0.113.9', 3, {}",
            owner.at
        )
    })
}

fn log_cases() -> Vec<Case> {
    type Filter = fn(usize) -> LogFilter;
    fn page(filter: LogFilter, place: Option<Place>) -> BenchList {
        BenchList::Logs(filter, place.map(|p| (p.at, LogEntryId::from_uuid(p.id))))
    }
    let filters: [(&str, Filter); 5] = [
        ("status", |share| LogFilter {
            status: Some(StatusFilter::Code([200, 404, 500, 409][share])),
            ..LogFilter::default()
        }),
        ("status class", |share| LogFilter {
            status: Some(StatusFilter::Class([2, 4, 5, 3][share])),
            ..LogFilter::default()
        }),
        ("method", |share| LogFilter {
            method: Some(["GET", "POST", "DELETE", "PATCH"][share].to_owned()),
            ..LogFilter::default()
        }),
        ("path", |share| LogFilter {
            path: Some(["/v1/calls", "/v1/agents", "/v1/me", "/v1/voices"][share].to_owned()),
            ..LogFilter::default()
        }),
        ("key", |share| LogFilter {
            key: Some(KeyId::from_uuid(uuid(Of::Key, share as i64))),
            ..LogFilter::default()
        }),
    ];
    let mut cases = vec![
        Case::new("no filter", 0, |_, _, place| {
            page(LogFilter::default(), place)
        }),
        Case::new("from and to", 0, |_, rows, place| {
            page(within(rows, LogFilter::default()), place)
        }),
        Case {
            deep: false,
            ..Case::new("request", 0, |_, _, place| {
                let filter = LogFilter {
                    request: Some(RequestId::from_uuid(uuid(Of::Request, 4_711))),
                    ..LogFilter::default()
                };
                page(filter, place)
            })
        },
    ];
    for (name, filter) in filters {
        cases.extend(Case::shares(name, 0..=3, move |share, _, place| {
            page(filter(share), place)
        }));
        let name = format!("from and to + {name}");
        cases.extend(Case::shares(&name, 0..=3, move |share, rows, place| {
            page(within(rows, filter(share)), place)
        }));
    }
    cases
}

fn within(rows: Rows, filter: LogFilter) -> LogFilter {
    LogFilter {
        since: Some(rows.at(0.05)),
        until: Some(rows.at(0.5)),
        ..filter
    }
}
