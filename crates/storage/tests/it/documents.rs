//! Knowledge documents, folders, their search index, and the workers that read them.

use std::collections::BTreeMap;

use offhook_domain::{
    AccountId, AgentStatus, DocumentId, DocumentSource, DocumentStatus, FolderId, Timestamp,
};
use offhook_storage::{
    ClaimedDocument, Document, DocumentFilter, Fenced, Folder, NewDocument, NewPassage, NewPosting,
    Publication, ReadDocument, ReadPart, Store, mint,
};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, after, new_agent, paged, pass, within};

/// More rows than any test has.
const MANY: i64 = 10_000;

pub(crate) fn new_document(account: AccountId, name: &str, at: Timestamp) -> NewDocument {
    NewDocument {
        document: Document {
            id: mint(at),
            account_id: account,
            folder_id: None,
            name: name.to_owned(),
            source: DocumentSource::Text,
            mime_type: Some("text/plain".to_owned()),
            url: None,
            size_bytes: Some(3),
            content_hash: Some(vec![1; 32]),
            chunks_count: 0,
            status: DocumentStatus::Processing,
            error: None,
            created_at: at,
            updated_at: at,
        },
        name_folded: name.to_lowercase(),
    }
}

pub(crate) async fn document(store: &Store, account: AccountId, at: Timestamp) -> DocumentId {
    let new = new_document(account, "Prices", at);
    let id = new.document.id;
    assert!(store.create_document(new).await.unwrap());
    id
}

async fn folder(store: &Store, account: AccountId, name: &str) -> FolderId {
    let folder = Folder {
        id: mint(T0),
        account_id: account,
        name: name.to_owned(),
        documents_count: 0,
        created_at: T0,
        updated_at: T0,
    };
    let (id, folded) = (folder.id, name.to_lowercase());
    let insert = within(store, move |mut tx| {
        Box::pin(async move { tx.insert_folder(&folder, folded).await })
    });
    insert.await;
    id
}

fn passage(ordinal: i32, content: &str) -> NewPassage {
    NewPassage {
        ordinal,
        repeats: 0,
        content: content.to_owned(),
    }
}

fn posting(term: &str, places: &str) -> NewPosting {
    NewPosting {
        term: term.to_owned(),
        places: places.to_owned(),
    }
}

fn part(passages: &[&str], words: Vec<NewPosting>) -> ReadPart {
    let passages = (0..).zip(passages);
    ReadPart {
        passages: passages.map(|(at, text)| passage(at, text)).collect(),
        words,
    }
}

fn read_document() -> ReadDocument {
    ReadDocument {
        chunks_count: 2,
        mime_type: "text/plain".to_owned(),
        size_bytes: 3,
        content_hash: vec![1; 32],
        embed_by: None,
        rest: ReadPart::default(),
    }
}

async fn claim(store: &Store) -> ClaimedDocument {
    store.claim_document(T0).await.unwrap().unwrap()
}

/// Finishes reading a document that a model should embed.
pub(crate) async fn finished(store: &Store, by: Option<&str>) {
    let claimed = claim(store).await;
    let read = ReadDocument {
        embed_by: by.map(str::to_owned),
        ..read_document()
    };
    let done = store
        .finish_document(claimed.document.id, claimed.claim, Ok(read), T0)
        .await
        .unwrap();
    assert_eq!(done, Fenced::Done);
}

/// Reads a document with these words.
async fn read(store: &Store, words: Vec<NewPosting>) -> DocumentId {
    let claimed = claim(store).await;
    let (id, claim) = (claimed.document.id, claimed.claim);
    let stored = store
        .store_part(id, claim, part(&["one"], Vec::new()))
        .await;
    assert_eq!(stored.unwrap(), Fenced::Done);
    let mut rest = part(&["one", "two"], words);
    rest.passages.remove(0);
    let read = ReadDocument {
        rest,
        ..read_document()
    };
    let done = store.finish_document(id, claim, Ok(read), T0).await;
    assert_eq!(done.unwrap(), Fenced::Done);
    id
}

/// The number of passages with each word; the empty word counts all passages.
async fn counts(store: &Store, account: AccountId) -> BTreeMap<String, i64> {
    let words = ["pool", "nine", "towel"].map(str::to_owned).to_vec();
    let words = store.account_words(account, words, MANY).await.unwrap();
    let mut counts = BTreeMap::new();
    if words.passages > 0 {
        counts.insert(String::new(), words.passages);
    }
    for posting in words.postings {
        *counts.entry(posting.term).or_default() += posting.places.split(' ').count() as i64;
    }
    counts
}

fn counted(counts: &[(&str, i64)]) -> BTreeMap<String, i64> {
    counts
        .iter()
        .map(|(word, count)| ((*word).to_owned(), *count))
        .collect()
}

async fn published(
    shop: &Shop,
    knowledge: (Vec<DocumentId>, Vec<FolderId>),
) -> offhook_domain::AgentId {
    let mut agent = new_agent(shop.account, "Eva");
    (agent.agent.status, agent.agent.published_version) = (AgentStatus::Draft, 0);
    let id = agent.agent.id;
    shop.store.create_agent(agent).await.unwrap();
    publish(
        shop,
        id,
        (AgentStatus::Draft, AgentStatus::Active),
        knowledge,
    )
    .await;
    id
}

async fn publish(
    shop: &Shop,
    id: offhook_domain::AgentId,
    statuses: (AgentStatus, AgentStatus),
    knowledge: (Vec<DocumentId>, Vec<FolderId>),
) {
    let publication = Publication {
        version: 1,
        statuses,
        note: None,
        tools: Vec::new(),
        knowledge,
        at: T0,
    };
    let done = shop
        .store
        .publish_agent(shop.account, id, publication)
        .await
        .unwrap();
    assert!(done.is_some());
}

contract! {
    async fn pages_of_documents_show_each_once_with_every_filter(store: Store) {
        let shop = Shop::new(&store).await;
        let mut made = Vec::new();
        for number in 0..7 {
            made.push(document(&store, shop.account, after(number / 3)).await);
        }
        made.sort();
        for filter in [
            DocumentFilter::default(),
            DocumentFilter { folder: Some(None), status: Some(DocumentStatus::Processing), q: Some("pric".to_owned()) },
        ] {
            let key = |document: &Document| (document.created_at, document.id);
            let read = async |place| store.documents(shop.account, filter.clone(), place, 2).await;
            let mut seen: Vec<_> = paged(2, key, read).await.iter().map(|document| document.id).collect();
            seen.sort();
            assert_eq!(seen, made);
        }
        let none = DocumentFilter { q: Some("%".to_owned()), ..Default::default() };
        assert_eq!(store.documents(shop.account, none, None, 9).await.unwrap().len(), 0);
    }

    async fn a_document_is_read_by_one_worker_until_its_lease_is_lost(store: Store) {
        let shop = Shop::new(&store).await;
        let id = document(&store, shop.account, T0).await;
        let first = claim(&store).await;
        assert_eq!((first.document.id, first.tries), (id, 1));
        assert!(store.claim_document(T0).await.unwrap().is_none());
        assert_eq!(store.documents_waiting(vec![id, mint(T0)]).await.unwrap(), [id]);
        pass(&store, 44);
        assert_eq!(store.renew_document(id, first.claim).await.unwrap(), Fenced::Done);
        pass(&store, 80);
        assert!(store.claim_document(T0).await.unwrap().is_none(), "renewed");
        pass(&store, 100);
        let second = claim(&store).await;
        assert_eq!((second.document.id, second.tries), (id, 2));
        assert_eq!(store.renew_document(id, first.claim).await.unwrap(), Fenced::Lost);
        let late = part(&["x"], vec![posting("x", "0:1")]);
        assert_eq!(store.store_part(id, first.claim, late).await.unwrap(), Fenced::Lost);
        assert_eq!(store.clear_document(id, first.claim, 9).await.unwrap(), None);
        let late = store.finish_document(id, first.claim, Ok(read_document()), T0).await.unwrap();
        assert_eq!(late, Fenced::Lost);
        store.release_document(id, second.claim, true).await.unwrap();
        assert_eq!(claim(&store).await.tries, 2, "a try that was none is given back");
        store.release_documents().await.unwrap();
        let third = claim(&store).await;
        assert_eq!(third.tries, 3);
        let failed = Err("It is broken.".to_owned());
        store.finish_document(id, third.claim, failed, after(5)).await.unwrap();
        let document = store.document(shop.account, id).await.unwrap().unwrap();
        assert_eq!((document.status, document.error.as_deref()), (DocumentStatus::Failed, Some("It is broken.")));
        assert_eq!(document.updated_at, after(5));
        assert_eq!(store.documents_waiting(vec![id]).await.unwrap(), [], "what was sent is wanted no more");
        assert!(store.claim_document(T0).await.unwrap().is_none());
    }

    async fn an_accounts_words_are_counted_and_uncounted_exactly(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        document(&store, shop.account, T0).await;
        let first = read(&store, vec![posting("nine", "0:5"), posting("pool", "0:7 1:9")]).await;
        document(&store, shop.account, T0).await;
        let second = read(&store, vec![posting("pool", "1:30"), posting("towel", "0:1")]).await;
        document(&store, other.account, T0).await;
        read(&store, vec![posting("pool", "0:1")]).await;
        assert_eq!(counts(&store, shop.account).await, counted(&[("", 4), ("pool", 3), ("nine", 1), ("towel", 1)]));
        assert_eq!(counts(&store, other.account).await, counted(&[("", 2), ("pool", 1)]));

        let found = store.account_words(shop.account, vec!["pool".to_owned()], MANY).await.unwrap().postings;
        let mut found: Vec<_> = found.iter().map(|p| (p.document_id, p.places.as_str())).collect();
        found.sort_unstable();
        let mut expected = [(first, "0:7 1:9"), (second, "1:30")];
        expected.sort_unstable();
        assert_eq!(found, expected);
        let places = vec![(second, 7), (first, 1), (second, 0)];
        let found = store.found_passages(shop.account, places.clone(), 1).await.unwrap();
        assert_eq!(found.iter().map(|f| (f.document_id, f.content.as_str())).collect::<Vec<_>>(), [(first, "two")]);
        assert_eq!(store.found_passages(other.account, places, 9).await.unwrap(), []);
        assert_eq!(store.document_text(first, 1, 9).await.unwrap(), [(0, "two".to_owned())]);

        store.delete_document(shop.account, second, T0).await.unwrap().unwrap();
        let mut whole = None;
        while let Some(cleared) = store.clear_gone_documents(1).await.unwrap() {
            whole = cleared.whole;
        }
        assert_eq!(whole, Some((shop.account, second)));
        assert_eq!(counts(&store, shop.account).await, counted(&[("", 2), ("pool", 2), ("nine", 1)]));
        store.delete_document(shop.account, first, T0).await.unwrap().unwrap();
        while store.clear_gone_documents(100).await.unwrap().is_some() {}
        assert_eq!(counts(&store, shop.account).await, counted(&[]));
        assert_eq!(counts(&store, other.account).await, counted(&[("", 2), ("pool", 1)]));
    }

    async fn where_words_have_too_many_rows_the_rarest_are_read(store: Store) {
        let shop = Shop::new(&store).await;
        for words in [vec!["pool", "nine"], vec!["pool"], vec!["pool"]] {
            document(&store, shop.account, T0).await;
            read(&store, words.into_iter().map(|word| posting(word, "0:5")).collect()).await;
        }
        let rows = async |words: &[&str], most| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            let found = store.account_words(shop.account, words, most).await.unwrap().postings;
            found.into_iter().map(|posting| posting.term).collect::<Vec<_>>()
        };
        assert_eq!(rows(&["pool", "nine"], 3).await, ["nine"]);
        assert_eq!(rows(&["pool", "nine"], 4).await.len(), 4);
        assert_eq!(rows(&["pool"], 2).await, ["pool", "pool"]);
    }

    async fn what_an_earlier_reader_left_is_cleared(store: Store) {
        let shop = Shop::new(&store).await;
        let id = document(&store, shop.account, T0).await;
        let first = claim(&store).await;
        let words = (0..65).map(|number| posting(&format!("word{number:02}"), "0:1"));
        store.store_part(id, first.claim, part(&["x"], words.collect())).await.unwrap();
        let stored = store.account_words(shop.account, vec!["word01".to_owned()], MANY).await.unwrap();
        assert_eq!(stored.postings, [], "it is not read yet");
        pass(&store, 60);
        let second = claim(&store).await;
        for removed in [64, 1, 0] {
            assert_eq!(store.clear_document(id, second.claim, 64).await.unwrap(), Some(removed));
        }
        assert_eq!(counts(&store, shop.account).await, counted(&[]));
        assert_eq!(store.document_text(id, 0, 9).await.unwrap(), []);
    }

    async fn publishing_pins_documents_and_those_of_folders_once(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let rooms = folder(&store, shop.account, "Rooms").await;
        let mut inside = new_document(shop.account, "inside", T0);
        inside.document.folder_id = Some(rooms);
        let inside_id = inside.document.id;
        store.create_document(inside).await.unwrap();
        let named = document(&store, shop.account, T0).await;
        let theirs = document(&store, other.account, T0).await;
        for _ in 0..3 {
            read(&store, vec![posting("pool", "0:1")]).await;
        }
        let knowledge = (vec![named, named, inside_id, theirs], vec![rooms]);
        let agent = published(&shop, knowledge.clone()).await;
        let pinned = async |version| {
            let mut ids = store.pinned_documents(shop.account, agent, version).await.unwrap();
            ids.sort();
            ids
        };
        let mut both = vec![named, inside_id];
        both.sort();
        assert_eq!(pinned(1).await, both, "each once, and never another account's");
        assert_eq!(pinned(2).await, []);
        let used = store.pinning_agents(shop.account, named).await.unwrap();
        assert_eq!(used.iter().map(|agent| agent.id).collect::<Vec<_>>(), [agent]);
        assert!(store.pinning_agents(other.account, named).await.unwrap().is_empty());

        // Later changes of the folder do not affect the version.
        store.delete_folder(shop.account, rooms, T0).await.unwrap();
        assert_eq!(pinned(1).await, both);
        let affected = store.delete_document(shop.account, inside_id, T0).await.unwrap().unwrap();
        assert_eq!(affected.iter().map(|a| (a.id, a.name.as_str())).collect::<Vec<_>>(), [(agent, "Eva")]);
        assert_eq!(pinned(1).await, [named]);
        // A published version is immutable: published again, it uses the same documents.
        let late = document(&store, shop.account, T0).await;
        read(&store, vec![posting("pool", "0:1")]).await;
        let active = (AgentStatus::Active, AgentStatus::Active);
        for knowledge in [Default::default(), (vec![named, late], vec![])] {
            publish(&shop, agent, active, knowledge).await;
            assert_eq!(pinned(1).await, [named]);
        }
        let affected = store.delete_document(shop.account, named, T0).await.unwrap().unwrap();
        assert_eq!(affected.iter().map(|a| a.id).collect::<Vec<_>>(), [agent]);
        publish(&shop, agent, active, (vec![named], vec![])).await;
        assert_eq!(pinned(1).await, [], "what is deleted is missing until another version is published");
        assert_eq!(store.delete_document(shop.account, late, T0).await.unwrap(), Some(vec![]));
    }

    async fn accounts_have_their_documents_read_in_turn(store: Store) {
        let shops = [Shop::new(&store).await, Shop::new(&store).await, Shop::new(&store).await];
        let mut many = Vec::new();
        for number in 0..6 {
            many.push(document(&store, shops[0].account, after(number)).await);
        }
        let next = async || {
            let claimed = claim(&store).await;
            store.finish_document(claimed.document.id, claimed.claim, Ok(read_document()), T0).await.unwrap();
            claimed.document.id
        };
        assert_eq!(next().await, many[0], "the oldest of an account first");
        let mut few = Vec::new();
        for shop in &shops[1..] {
            for number in 10..12 {
                few.push(document(&store, shop.account, after(number)).await);
            }
        }
        let mut read = Vec::new();
        for _ in 0..9 {
            read.push(next().await);
        }
        // New accounts have not had a turn; two of one moment are ordered by account.
        let (b, c) = if shops[1].account < shops[2].account { (0, 2) } else { (2, 0) };
        let expected = [few[b], few[c], many[1], few[b + 1], few[c + 1], many[2], many[3], many[4], many[5]];
        assert_eq!(read, expected);
        assert!(store.claim_document(T0).await.unwrap().is_none());
    }

    async fn one_that_is_read_leaves_the_turn_to_the_others(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let first = document(&store, shop.account, T0).await;
        let second = document(&store, shop.account, after(1)).await;
        assert_eq!(claim(&store).await.document.id, first);
        let theirs = document(&store, other.account, after(2)).await;
        assert_eq!(claim(&store).await.document.id, theirs);
        assert_eq!(claim(&store).await.document.id, second, "none is kept waiting for nobody");
        assert!(store.claim_document(T0).await.unwrap().is_none());
        // A document whose reader died comes first again.
        pass(&store, 60);
        assert_eq!(claim(&store).await.document.id, theirs);
    }
}
