//! What an account makes: agents, tools, knowledge, numbers and batches.

use offhook_domain::{
    AgentId, AgentStatus, BatchId, BatchStatus, ConversationId, DocumentId, DocumentStatus,
    FolderId, PhoneNumberId, RecipientStatus, Runtime, ToolId,
};
use offhook_storage::{AgentFilter, BatchFilter, BenchList, DocumentFilter};

use super::{Case, List, Place, Rows, SHARES, Served};
use crate::sql::{Of, pick, uuid};

/// Texts that this share of the names holds, and of which none is the beginning of a name.
const TEXTS: [&str; 4] = ["row", "solar", "lunar", "stellar"];

pub(super) fn lists() -> Vec<List> {
    vec![
        List {
            name: "agents",
            tables: &["agents", "agent_grams"],
            fill: agents,
            cases: agent_cases,
        },
        List {
            name: "versions",
            tables: &["agent_versions"],
            fill: versions,
            cases: || {
                vec![Case::new("no filter", 0, |_, _, place| {
                    BenchList::Versions(agent(0), place.map(number))
                })]
            },
        },
        List {
            name: "tools",
            tables: &["tools"],
            fill: tools,
            cases: || {
                vec![Case::new("no filter", 0, |_, _, place| {
                    BenchList::Tools(place.map(|p| (p.at, ToolId::from_uuid(p.id))))
                })]
            },
        },
        List {
            name: "documents",
            tables: &["knowledge_documents", "document_grams"],
            fill: documents,
            cases: document_cases,
        },
        List {
            name: "folders",
            tables: &["knowledge_folders"],
            fill: folders,
            cases: || {
                vec![Case::new("no filter", 0, |_, _, place| {
                    BenchList::Folders(place.map(|p| (p.at, FolderId::from_uuid(p.id))))
                })]
            },
        },
        List {
            name: "phone numbers",
            tables: &["phone_numbers"],
            fill: numbers,
            cases: number_cases,
        },
        List {
            name: "batches",
            tables: &["batch_calls"],
            fill: batches,
            cases: batch_cases,
        },
        List {
            name: "recipients",
            tables: &["batch_recipients"],
            fill: recipients,
            cases: recipient_cases,
        },
        List {
            name: "turns",
            tables: &["conversation_moments"],
            fill: moments,
            cases: || {
                vec![Case {
                    ascending: true,
                    ..Case::new("no filter", 0, |_, _, place| {
                        let id = ConversationId::from_uuid(uuid(Of::Conversation, 0));
                        BenchList::Turns(id, place.map_or(0, number))
                    })
                }]
            },
        },
    ]
}

/// Agents, folders: the one with this number.
fn agent(number: usize) -> AgentId {
    AgentId::from_uuid(uuid(Of::Agent, number as i64))
}

fn number(place: Place) -> i32 {
    i32::try_from(place.number).unwrap_or(i32::MAX)
}

/// A name that holds one of [`TEXTS`].
fn name() -> String {
    pick(41, 43, ["'a row '", "'a solar row '", "'a lunar row '"]) + " || i"
}

fn agents(rows: Rows) -> String {
    let into = "agents (id, account_id, runtime, name, name_folded, language, status, head_version, published_version, \
                created_at, updated_at)";
    let agents = rows.of(into, |sql, owner| {
        let at = &owner.at;
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        let runtime = pick(7, 11, ["'engine'", "'legacy'", "'engine'"]);
        let status = pick(13, 17, ["'active'", "'paused'", "'archived'"]);
        let name = name();
        format!("{id}, {account}, {runtime}, {name}, {name}, 'en-US', {status}, 1, 1, {at}, {at}")
    });
    agents + &rows.sql.grams("agent_grams", "agents")
}

fn agent_cases() -> Vec<Case> {
    const STATUSES: [AgentStatus; 4] = [
        AgentStatus::Active,
        AgentStatus::Paused,
        AgentStatus::Archived,
        AgentStatus::Draft,
    ];
    fn page(filter: AgentFilter, place: Option<Place>) -> BenchList {
        BenchList::Agents(filter, place.map(|p| (p.at, AgentId::from_uuid(p.id))))
    }
    let mut cases = vec![Case::new("no filter", 0, |_, _, place| {
        page(AgentFilter::default(), place)
    })];
    cases.extend(Case::shares("runtime", 0..=1, |share, _, place| {
        let runtime = [Runtime::Engine, Runtime::Legacy][share];
        let filter = AgentFilter {
            runtime: Some(runtime),
            ..AgentFilter::default()
        };
        page(filter, place)
    }));
    cases.extend(Case::shares("status", 0..=3, |share, _, place| {
        let filter = AgentFilter {
            status: Some(STATUSES[share]),
            ..AgentFilter::default()
        };
        page(filter, place)
    }));
    cases.extend(Case::shares("engine + status", 0..=3, |share, _, place| {
        let filter = AgentFilter {
            runtime: Some(Runtime::Engine),
            status: Some(STATUSES[share]),
            ..AgentFilter::default()
        };
        page(filter, place)
    }));
    cases.push(Case::new("legacy + paused, none", 3, |_, _, place| {
        let filter = AgentFilter {
            runtime: Some(Runtime::Legacy),
            status: Some(AgentStatus::Paused),
            ..AgentFilter::default()
        };
        page(filter, place)
    }));
    cases.extend(within_names(|text, place| {
        let filter = AgentFilter {
            q: Some(text),
            ..AgentFilter::default()
        };
        page(filter, place)
    }));
    cases.push(
        Case::new("q 100 % + legacy", 1, |_, _, place| {
            let filter = AgentFilter {
                runtime: Some(Runtime::Legacy),
                q: Some(TEXTS[0].to_owned()),
                ..AgentFilter::default()
            };
            page(filter, place)
        })
        .served_by(Served::Pieces),
    );
    cases.push(
        Case::new("q 1 % + engine", 1, |_, _, place| {
            let filter = AgentFilter {
                runtime: Some(Runtime::Engine),
                q: Some(TEXTS[1].to_owned()),
                ..AgentFilter::default()
            };
            page(filter, place)
        })
        .served_by(Served::Pieces),
    );
    cases.push(
        Case::new("q 1 % + legacy, none", 3, |_, _, place| {
            let filter = AgentFilter {
                runtime: Some(Runtime::Legacy),
                q: Some(TEXTS[1].to_owned()),
                ..AgentFilter::default()
            };
            page(filter, place)
        })
        .served_by(Served::Walk),
    );
    cases.push(
        Case::new("q of common pieces, none", 3, |_, _, place| {
            let filter = AgentFilter {
                q: Some("999999999".to_owned()),
                ..AgentFilter::default()
            };
            page(filter, place)
        })
        .served_by(Served::Walk),
    );
    cases
}

/// A text within names, of each share.
fn within_names(page: fn(String, Option<Place>) -> BenchList) -> Vec<Case> {
    let mut cases = Case::shares("q", 0..=3, move |share, _, place| {
        page(TEXTS[share].to_owned(), place)
    });
    // Its pieces are as rare as it is.
    cases.extend(Case::shares("a longer q", 1..=3, move |share, _, place| {
        page(format!("a {} row ", TEXTS[share]), place)
    }));
    // Letters that names have, and a text of them that none has.
    cases.push(Case::new("q of common letters 0", 3, move |_, _, place| {
        page("ra wo".to_owned(), place)
    }));
    cases.push(Case::new("q of one letter 0", 3, move |_, _, place| {
        page("z".to_owned(), place)
    }));
    cases
        .into_iter()
        .map(|case| case.served_by(Served::Pieces))
        .collect()
}

fn versions(rows: Rows) -> String {
    rows.of(
        "agent_versions (agent_id, version, config, created_at)",
        |sql, owner| {
            let agent = sql.id(Of::Agent, &owner.number);
            format!("{agent}, i, '{{}}', {}", owner.at)
        },
    )
}

fn tools(rows: Rows) -> String {
    let into = "tools (id, account_id, name, definition, revision, created_at, updated_at)";
    rows.of(into, |sql, owner| {
        let at = &owner.at;
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        format!("{id}, {account}, 'tool_' || i, '{{}}', 1, {at}, {at}")
    })
}

fn documents(rows: Rows) -> String {
    let into = "knowledge_documents (id, account_id, folder_id, name, name_folded, source, chunks_count, status, tries, \
                created_at, updated_at)";
    let documents = rows.of(into, |sql, owner| {
        let at = &owner.at;
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        let folders = [1, 2].map(|number| sql.uuid(uuid(Of::Folder, number)));
        let folder = pick(7, 11, ["NULL", &folders[0], &folders[1]]);
        let status = pick(13, 17, ["'ready'", "'failed'", "'processing'"]);
        let name = name();
        format!("{id}, {account}, {folder}, {name}, {name}, 'text', 1, {status}, 1, {at}, {at}")
    });
    documents + &rows.sql.grams("document_grams", "knowledge_documents")
}

fn document_cases() -> Vec<Case> {
    const STATUSES: [DocumentStatus; 3] = [
        DocumentStatus::Ready,
        DocumentStatus::Failed,
        DocumentStatus::Processing,
    ];
    fn page(filter: DocumentFilter, place: Option<Place>) -> BenchList {
        let place = place.map(|p| (p.at, DocumentId::from_uuid(p.id)));
        BenchList::Documents(filter, place)
    }
    fn folder(share: usize) -> Option<Option<FolderId>> {
        let folder = FolderId::from_uuid(uuid(Of::Folder, share as i64));
        Some((share > 0).then_some(folder))
    }
    let mut cases = vec![Case::new("no filter", 0, |_, _, place| {
        page(DocumentFilter::default(), place)
    })];
    cases.extend(Case::shares("folder", 0..=3, |share, _, place| {
        let filter = DocumentFilter {
            folder: folder(share),
            ..DocumentFilter::default()
        };
        page(filter, place)
    }));
    cases.extend(Case::shares("status", 0..=2, |share, _, place| {
        let filter = DocumentFilter {
            status: Some(STATUSES[share]),
            ..DocumentFilter::default()
        };
        page(filter, place)
    }));
    cases.extend(Case::shares("root + status", 0..=2, |share, _, place| {
        let filter = DocumentFilter {
            folder: Some(None),
            status: Some(STATUSES[share]),
            ..DocumentFilter::default()
        };
        page(filter, place)
    }));
    cases.extend(Case::shares("folder + ready", 0..=3, |share, _, place| {
        let filter = DocumentFilter {
            folder: folder(share),
            status: Some(DocumentStatus::Ready),
            ..DocumentFilter::default()
        };
        page(filter, place)
    }));
    cases.push(Case::new("folder 1 % + failed, none", 3, |_, _, place| {
        let filter = DocumentFilter {
            folder: folder(1),
            status: Some(DocumentStatus::Failed),
            ..DocumentFilter::default()
        };
        page(filter, place)
    }));
    cases.extend(within_names(|text, place| {
        let filter = DocumentFilter {
            q: Some(text),
            ..DocumentFilter::default()
        };
        page(filter, place)
    }));
    cases
}

fn folders(rows: Rows) -> String {
    let into = "knowledge_folders (id, account_id, name, name_folded, documents_count, created_at, updated_at)";
    rows.of(into, |sql, owner| {
        let at = &owner.at;
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        format!("{id}, {account}, 'Folder ' || i, 'folder ' || i, 0, {at}, {at}")
    })
}

fn numbers(rows: Rows) -> String {
    let into = "phone_numbers (id, account_id, phone_number, label, provider, agent_id, created_at, updated_at)";
    rows.of(into, |sql, owner| {
        let at = &owner.at;
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        let agents = [0, 1, 2].map(|number| sql.uuid(agent(number).uuid()));
        let agent = pick(7, 11, [&agents[0], &agents[1], &agents[2]]);
        format!("{id}, {account}, '+1' || (2000000000 + i), '', 'simulator', {agent}, {at}, {at}")
    })
}

fn number_cases() -> Vec<Case> {
    fn page(agent: Option<AgentId>, place: Option<Place>) -> BenchList {
        let place = place.map(|p| (p.at, PhoneNumberId::from_uuid(p.id)));
        BenchList::Numbers(agent, place)
    }
    let mut cases = vec![Case::new("no filter", 0, |_, _, place| page(None, place))];
    cases.extend(Case::shares("agent", 0..=3, |share, _, place| {
        page(Some(agent(share)), place)
    }));
    cases
}

fn batches(rows: Rows) -> String {
    let into = "batch_calls (id, account_id, name, agent_id, key_id, status, total, pending, dialing, completed, failed, \
                cancelled, created_at, look_at)";
    rows.of(into, |sql, owner| {
        let at = &owner.at;
        let id = sql.id(Of::Row, "i");
        let account = sql.id(Of::Account, &owner.number);
        let key = sql.id(Of::Key, &owner.number);
        let agents = [0, 1, 2].map(|number| sql.uuid(agent(number).uuid()));
        let agent = pick(7, 11, [&agents[0], &agents[1], &agents[2]]);
        let status = pick(13, 17, ["'completed'", "'failed'", "'cancelled'"]);
        format!("{id}, {account}, 'batch', {agent}, {key}, {status}, 0, 0, 0, 0, 0, 0, {at}, {at}")
    })
}

fn batch_cases() -> Vec<Case> {
    const STATUSES: [BatchStatus; 4] = [
        BatchStatus::Completed,
        BatchStatus::Failed,
        BatchStatus::Cancelled,
        BatchStatus::Running,
    ];
    fn page(
        agent: Option<AgentId>,
        status: Option<BatchStatus>,
        place: Option<Place>,
    ) -> BenchList {
        let place = place.map(|p| (p.at, BatchId::from_uuid(p.id)));
        BenchList::Batches(BatchFilter { status, agent }, place)
    }
    let mut cases = vec![Case::new("no filter", 0, |_, _, place| {
        page(None, None, place)
    })];
    cases.extend(Case::shares("agent", 0..=3, |share, _, place| {
        page(Some(agent(share)), None, place)
    }));
    cases.extend(Case::shares("status", 0..=3, |share, _, place| {
        page(None, Some(STATUSES[share]), place)
    }));
    cases.extend(Case::shares(
        "agent 100 % + status",
        0..=3,
        |share, _, place| page(Some(agent(0)), Some(STATUSES[share]), place),
    ));
    cases.push(Case::new(
        "agent 1 % + status 1 %, none",
        3,
        |_, _, place| page(Some(agent(1)), Some(STATUSES[1]), place),
    ));
    cases
}

fn recipients(rows: Rows) -> String {
    let into = "batch_recipients (id, batch_id, place, to_number, metadata, status, attempt)";
    rows.of(into, |sql, owner| {
        let id = sql.id(Of::Row, "i");
        let batch = sql.id(Of::Batch, &owner.batch);
        let status = pick(13, 17, ["'completed'", "'failed'", "'cancelled'"]);
        format!("{id}, {batch}, i, '+14155550123', '{{}}', {status}, 1")
    })
}

fn recipient_cases() -> Vec<Case> {
    const STATUSES: [RecipientStatus; 4] = [
        RecipientStatus::Completed,
        RecipientStatus::Failed,
        RecipientStatus::Cancelled,
        RecipientStatus::Pending,
    ];
    fn page(status: Option<RecipientStatus>, place: Option<Place>) -> BenchList {
        // Two thirds into the batch, not into the account's recipients.
        let after = place.map(|_| 6_666);
        BenchList::Recipients(BatchId::from_uuid(uuid(Of::Batch, 0)), status, after)
    }
    let mut cases = vec![Case::new("no filter", 0, |_, _, place| page(None, place))];
    for share in [0, 1, 3] {
        let name = format!("status {}", SHARES[share]);
        cases.push(Case::new(name, share, move |share, _, place| {
            page(Some(STATUSES[share]), place)
        }));
    }
    cases
}

fn moments(rows: Rows) -> String {
    let into = "conversation_moments (conversation_id, seq, at, role, content)";
    rows.of(into, |sql, owner| {
        let conversation = sql.id(Of::Conversation, &owner.number);
        let at = &owner.at;
        format!(
            "{conversation}, i + 1, {at}, CASE WHEN i % 5 = 0 THEN NULL ELSE 'agent' END, 'Shall we expect you at six?'"
        )
    })
}
