//! Folders of documents: their names, and what is in them.

use offhook_domain::{AccountId, DocumentSource, DocumentStatus, Timestamp};
use offhook_storage::{Document, DocumentChange, DocumentFilter, Folder, NewDocument, Store, mint};
use offhook_testkit::contract;

use super::shop::{Shop, T0, after, race};
use crate::Refusal;
use crate::error::{Result, UseCaseError};
use crate::knowledge::folders;

fn new_document(account: AccountId, name: &str, at: Timestamp) -> NewDocument {
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

async fn make(store: &Store, account: AccountId, name: &str, most: i64) -> Result<Folder> {
    let folder = Folder {
        id: mint(T0),
        account_id: account,
        name: name.to_owned(),
        documents_count: 0,
        created_at: T0,
        updated_at: T0,
    };
    folders::make(store, folder, name.to_lowercase(), most).await
}

contract! {
    async fn folder_names_are_taken_once_and_folders_are_bounded_also_when_they_race(store: Store) {
        let shop = Shop::new(&store).await;
        let made = race(6, |at| {
            let (store, account) = (store.clone(), shop.account);
            async move { make(&store, account, if at % 2 == 0 { "Menu" } else { "MENU" }, 1_000).await }
        });
        assert_eq!(made.await.into_iter().filter(Result::is_ok).count(), 1);
        let refused = make(&store, shop.account, "Rooms", 1).await;
        assert!(matches!(refused, Err(UseCaseError::Conflict(Refusal::TooManyFolders(1)))));
        let rooms = make(&store, shop.account, "Rooms", 1_000).await.unwrap().id;
        let taken = ("mEnu".to_owned(), "menu".to_owned());
        let renamed = folders::rename(&store, (shop.account, rooms), taken.clone(), T0).await;
        assert!(matches!(renamed, Err(UseCaseError::Conflict(Refusal::FolderNameTaken))));
        let stranger = Shop::new(&store).await;
        let renamed = folders::rename(&store, (stranger.account, rooms), taken, T0).await;
        assert!(matches!(renamed, Err(UseCaseError::NotFound)));
        let own = ("ROOMS".to_owned(), "rooms".to_owned());
        let renamed = folders::rename(&store, (shop.account, rooms), own, after(1)).await;
        assert_eq!(renamed.unwrap().name, "ROOMS");
    }

    async fn folders_count_what_is_in_them_and_let_it_go(store: Store) {
        let shop = Shop::new(&store).await;
        let folder = async |name| make(&store, shop.account, name, 1_000).await.unwrap().id;
        let (first, second) = (folder("a").await, folder("b").await);
        let mut ids = Vec::new();
        for number in 0..3 {
            let mut new = new_document(shop.account, "d", after(number));
            new.document.folder_id = Some(first);
            ids.push(new.document.id);
            assert!(store.create_document(new).await.unwrap());
        }
        let count = async |id| store.folder(shop.account, id).await.unwrap().unwrap().documents_count;
        assert_eq!((count(first).await, count(second).await), (3, 0));
        let moved = DocumentChange { folder: Some(Some(second)), ..Default::default() };
        for _ in 0..2 {
            let change = folders::change_document(&store, (shop.account, ids[0]), moved.clone(), T0);
            assert_eq!(change.await.unwrap().folder_id, Some(second));
        }
        let nowhere = DocumentChange { folder: Some(Some(mint(T0))), ..Default::default() };
        let refused = folders::change_document(&store, (shop.account, ids[0]), nowhere, T0).await;
        assert!(matches!(refused, Err(UseCaseError::Invalid(_))));
        assert_eq!((count(first).await, count(second).await), (2, 1));
        store.delete_document(shop.account, ids[1], T0).await.unwrap().unwrap();
        assert_eq!(count(first).await, 1);
        let inside = DocumentFilter { folder: Some(Some(second)), ..Default::default() };
        let list = store.documents(shop.account, inside, None, 10).await.unwrap();
        assert_eq!(list.iter().map(|d| d.id).collect::<Vec<_>>(), [ids[0]]);
        assert_eq!(store.delete_folder(shop.account, second, after(9)).await.unwrap(), Some(1));
        assert_eq!(store.delete_folder(shop.account, second, after(9)).await.unwrap(), None);
        let root = DocumentFilter { folder: Some(None), ..Default::default() };
        let list = store.documents(shop.account, root, None, 10).await.unwrap();
        assert_eq!(list.iter().map(|d| (d.id, d.updated_at)).collect::<Vec<_>>(), [(ids[0], after(9))]);
    }
}
