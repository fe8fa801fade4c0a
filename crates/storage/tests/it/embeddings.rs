//! Passages to embed, the models, and the vectors that searches read.

use offhook_domain::{AccountId, DocumentId};
use offhook_storage::{
    EmbeddedDocument, EmbeddingJob, EmbeddingState, Fenced, PassageVectors, Store,
};
use offhook_testkit::contract;

use crate::it::documents::{document, finished};
use crate::it::shop::{Shop, T0, after, pass};

async fn ready(store: &Store, account: AccountId, by: Option<&str>) -> DocumentId {
    ready_at(store, account, by, 0).await
}

/// Ids are in the order of their creation times.
async fn ready_at(store: &Store, account: AccountId, by: Option<&str>, seconds: u64) -> DocumentId {
    let id = document(store, account, after(seconds)).await;
    finished(store, by).await;
    id
}

async fn claim(store: &Store, model: &str) -> EmbeddingJob {
    store.claim_embedding(model, T0).await.unwrap().unwrap()
}

fn vectors(document: DocumentId, ordinal: i32, vectors: &[u8]) -> PassageVectors {
    PassageVectors {
        document,
        ordinal,
        dimension: 2,
        vectors: vectors.to_vec(),
    }
}

async fn counts(store: &Store, model: &str) -> (i64, i64, usize) {
    let EmbeddingState {
        embedded,
        waiting,
        given_up,
    } = store.embedding_state(model).await.unwrap();
    (embedded, waiting, given_up.len())
}

contract! {
    async fn a_document_that_was_read_is_embedded_once(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let id = ready(&store, shop.account, Some("m")).await;
        let theirs = ready(&store, other.account, Some("m")).await;
        ready(&store, shop.account, None).await;
        assert_eq!(counts(&store, "m").await, (0, 2, 0));
        assert!(store.claim_embedding("n", T0).await.unwrap().is_none(), "another model's");
        let (first, second) = (claim(&store, "m").await, claim(&store, "m").await);
        assert!(store.claim_embedding("m", T0).await.unwrap().is_none());
        let (mine, job) = if first.document == id { (first, second) } else { (second, first) };
        assert_eq!((mine.account, mine.tries, job.document), (shop.account, 0, theirs));

        assert!(store.last_vectors(id, "m").await.unwrap().is_none());
        for part in [vectors(id, 0, &[1, 2, 3, 4]), vectors(id, 2, &[5, 6])] {
            assert_eq!(store.store_vectors(mine, "m", part).await.unwrap(), Fenced::Done);
        }
        assert_eq!(store.last_vectors(id, "m").await.unwrap(), Some(vectors(id, 2, &[5, 6])));
        assert_eq!(store.newest_embedded(shop.account, "m", None, 9).await.unwrap(), [], "not before it is whole");
        assert_eq!(store.finish_embedding(mine, "m", 3).await.unwrap(), Fenced::Done);
        assert_eq!(counts(&store, "m").await, (1, 1, 0));
        let whole = EmbeddedDocument { document: id, passages: 3 };
        assert_eq!(store.newest_embedded(shop.account, "m", None, 9).await.unwrap(), [whole]);
        assert_eq!(store.embedded_among(shop.account, "m", vec![id, theirs]).await.unwrap(), [whole]);
        assert_eq!(store.embedded_among(other.account, "m", vec![id]).await.unwrap(), []);
        let mut all = store.vectors_of(vec![id], "m").await.unwrap();
        all.sort_by_key(|part| part.ordinal);
        assert_eq!(all, [vectors(id, 0, &[1, 2, 3, 4]), vectors(id, 2, &[5, 6])]);
        assert_eq!(store.store_vectors(mine, "m", vectors(id, 0, &[9, 9])).await.unwrap(), Fenced::Lost);
    }

    async fn what_is_tried_three_times_is_left_until_it_is_ordered_again(store: Store) {
        let shop = Shop::new(&store).await;
        let id = ready(&store, shop.account, Some("m")).await;
        store.release_embedding(claim(&store, "m").await, None).await.unwrap();
        for tries in 0..3 {
            let job = claim(&store, "m").await;
            assert_eq!(job.tries, tries);
            store.release_embedding(job, Some(format!("No {tries}."))).await.unwrap();
        }
        assert!(store.claim_embedding("m", T0).await.unwrap().is_none());
        let state = store.embedding_state("m").await.unwrap();
        assert_eq!(state.given_up, [(id, Some("No 2.".to_owned()))]);
        assert_eq!(store.order_embeddings("m", None, 10).await.unwrap(), Some(id));
        assert_eq!(store.order_embeddings("m", Some(id), 10).await.unwrap(), None);
        assert_eq!(claim(&store, "m").await.tries, 0);
    }

    async fn another_model_takes_the_place_of_the_first_document_by_document(store: Store) {
        let shop = Shop::new(&store).await;
        let mut ids = Vec::new();
        for number in 0..3 {
            let id = ready_at(&store, shop.account, Some("m"), number).await;
            let job = claim(&store, "m").await;
            store.store_vectors(job, "m", vectors(id, 0, &[1, 1])).await.unwrap();
            store.finish_embedding(job, "m", 1).await.unwrap();
            ids.push(id);
        }
        let page = async |before| {
            let page = store.newest_embedded(shop.account, "m", before, 2).await.unwrap();
            page.into_iter().map(|found| found.document).collect::<Vec<_>>()
        };
        assert_eq!(page(None).await, [ids[2], ids[1]]);
        assert_eq!(page(Some(ids[1])).await, [ids[0]]);
        // One is not read yet, and one waits for the first model.
        ready_at(&store, shop.account, Some("m"), 3).await;
        document(&store, shop.account, after(4)).await;
        let (mut behind, mut pages) = (None, 0);
        while let Some(last) = store.order_embeddings("n", behind, 2).await.unwrap() {
            (behind, pages) = (Some(last), pages + 1);
        }
        assert_eq!((pages, counts(&store, "n").await), (3, (0, 4, 0)));
        assert!(store.claim_embedding("m", T0).await.unwrap().is_none());
        let job = claim(&store, "n").await;
        assert_eq!(job.document, ids[0]);
        store.store_vectors(job, "n", vectors(job.document, 0, &[7, 7])).await.unwrap();
        assert_eq!(store.vectors_of(vec![job.document], "m").await.unwrap().len(), 1, "until the new ones are whole");
        store.finish_embedding(job, "n", 1).await.unwrap();
        assert_eq!(store.vectors_of(vec![job.document], "m").await.unwrap(), []);
        assert_eq!(store.vectors_of(vec![job.document], "n").await.unwrap(), [vectors(job.document, 0, &[7, 7])]);
        assert_eq!((counts(&store, "m").await, counts(&store, "n").await), ((2, 0, 0), (1, 3, 0)));
    }

    async fn a_lost_lease_and_a_deletion_end_the_work(store: Store) {
        let shop = Shop::new(&store).await;
        let id = ready(&store, shop.account, Some("m")).await;
        let first = claim(&store, "m").await;
        pass(&store, 46);
        let second = claim(&store, "m").await;
        assert_eq!(second.document, id);
        assert_eq!(store.store_vectors(first, "m", vectors(id, 0, &[1, 1])).await.unwrap(), Fenced::Lost);
        assert_eq!(store.finish_embedding(first, "m", 1).await.unwrap(), Fenced::Lost);
        store.release_embeddings().await.unwrap();
        let third = claim(&store, "m").await;
        assert_eq!(store.store_vectors(third, "m", vectors(id, 0, &[1, 1])).await.unwrap(), Fenced::Done);
        store.delete_document(shop.account, id, T0).await.unwrap().unwrap();
        assert_eq!(store.store_vectors(third, "m", vectors(id, 1, &[1, 1])).await.unwrap(), Fenced::Lost);
        assert_eq!(store.vectors_of(vec![id], "m").await.unwrap(), []);
        assert_eq!(counts(&store, "m").await, (0, 0, 0));
    }

    async fn accounts_have_their_documents_embedded_in_turn(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        for _ in 0..3 {
            ready(&store, shop.account, Some("m")).await;
        }
        assert_eq!(claim(&store, "m").await.account, shop.account);
        ready(&store, other.account, Some("m")).await;
        assert_eq!(claim(&store, "m").await.account, other.account);
        assert_eq!(claim(&store, "m").await.account, shop.account);
    }
}
