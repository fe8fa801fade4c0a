//! `/v1/knowledge`.

use std::str::FromStr;

use offhook_services::store::DocumentFilter;

use crate::prelude::*;
use crate::request::ask::{KnowledgeRead, KnowledgeWrite};
use crate::request::body::Optional;
use crate::request::upload::Upload;
use crate::wire::knowledge::{
    DocumentBody, DocumentDeletion, FolderBody, FolderDeletion, Hits, disposition,
};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/knowledge/documents").get(list).post(add),
        at("/v1/knowledge/documents/{id}")
            .get(get)
            .patch(change)
            .delete(delete),
        at("/v1/knowledge/documents/{id}/content").get(content),
        at("/v1/knowledge/folders").get(folders).post(add_folder),
        at("/v1/knowledge/folders/{id}")
            .get(folder)
            .patch(change_folder)
            .delete(delete_folder),
        at("/v1/knowledge/search").post(search),
    ]
}

/// A folder's id, or `root`.
struct Place(Option<FolderId>);

impl FromStr for Place {
    type Err = offhook_domain::IdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "root" => Ok(Self(None)),
            id => id.parse().map(|id| Self(Some(id))),
        }
    }
}

impl FromQuery for DocumentFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let place: Option<Place> =
            query.choice("folder_id", || "a folder's UUID or `root`".to_owned())?;
        Ok(Self {
            folder: place.map(|place| place.0),
            status: query.choice("status", DocumentStatus::choices)?,
            q: query.text("q", 200)?,
        })
    }
}

/// `GET /v1/knowledge/documents`
async fn list(ask: Ask<KnowledgeRead, (), Listing<DocumentFilter>>) -> Reply {
    let page = ask.query.page_request(DocumentId::from_uuid);
    let filter = ask.query.filters.clone();
    let knowledge = ask.services().knowledge();
    let documents = knowledge.documents(ask.account(), filter, page).await?;
    ask.query.answer(
        &documents,
        |document| (document.created_at, document.id.uuid()),
        DocumentBody,
    )
}

/// `POST /v1/knowledge/documents`
async fn add(mut ask: Ask<KnowledgeWrite, (), (), Option<Upload>>) -> Reply {
    let Some(Upload(content)) = ask.body.take() else {
        return Err(crate::ApiError::internal("an upload was read twice"));
    };
    let knowledge = ask.services().knowledge();
    let document = knowledge.add(ask.account(), content).await?;
    ask.made(ResourceKind::Document, document.id.uuid());
    reply::accepted(&DocumentBody(&document))
}

/// `GET /v1/knowledge/documents/{id}`
async fn get(ask: Ask<KnowledgeRead, DocumentId>) -> Reply {
    let knowledge = ask.services().knowledge();
    let document = knowledge.document(ask.account(), ask.id).await?;
    reply::ok(&DocumentBody(&document))
}

/// `GET /v1/knowledge/documents/{id}/content`
async fn content(ask: Ask<KnowledgeRead, DocumentId>) -> Reply {
    let knowledge = ask.services().knowledge();
    let (document, text) = knowledge.text(ask.account(), ask.id).await?;
    Ok(HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .insert_header(("Content-Disposition", disposition(&document.name)))
        .body(text))
}

/// `PATCH /v1/knowledge/documents/{id}`
async fn change(ask: Ask<KnowledgeWrite, DocumentId, (), Optional>) -> Reply {
    let knowledge = ask.services().knowledge();
    let document = knowledge.change(ask.account(), ask.id, &ask.body.0).await?;
    reply::ok(&DocumentBody(&document))
}

/// `DELETE /v1/knowledge/documents/{id}`
async fn delete(ask: Ask<KnowledgeWrite, DocumentId>) -> Reply {
    let knowledge = ask.services().knowledge();
    let deleted = knowledge.delete(ask.account(), ask.id).await?;
    reply::ok(&DocumentDeletion::new(ask.id, &deleted))
}

/// `GET /v1/knowledge/folders`
async fn folders(ask: Ask<KnowledgeRead, (), Listing<()>>) -> Reply {
    let page = ask.query.page_request(FolderId::from_uuid);
    let knowledge = ask.services().knowledge();
    let folders = knowledge.folders(ask.account(), page).await?;
    ask.query.answer(
        &folders,
        |folder| (folder.created_at, folder.id.uuid()),
        FolderBody,
    )
}

/// `POST /v1/knowledge/folders`
async fn add_folder(ask: Ask<KnowledgeWrite, (), (), Json>) -> Reply {
    let knowledge = ask.services().knowledge();
    let folder = knowledge.add_folder(ask.account(), &ask.body).await?;
    ask.made(ResourceKind::Folder, folder.id.uuid());
    reply::created(&FolderBody(&folder))
}

/// `GET /v1/knowledge/folders/{id}`
async fn folder(ask: Ask<KnowledgeRead, FolderId>) -> Reply {
    let knowledge = ask.services().knowledge();
    let folder = knowledge.folder(ask.account(), ask.id).await?;
    reply::ok(&FolderBody(&folder))
}

/// `PATCH /v1/knowledge/folders/{id}`
async fn change_folder(ask: Ask<KnowledgeWrite, FolderId, (), Optional>) -> Reply {
    let knowledge = ask.services().knowledge();
    let folder = knowledge
        .change_folder(ask.account(), ask.id, &ask.body.0)
        .await?;
    reply::ok(&FolderBody(&folder))
}

/// `DELETE /v1/knowledge/folders/{id}`
async fn delete_folder(ask: Ask<KnowledgeWrite, FolderId>) -> Reply {
    let knowledge = ask.services().knowledge();
    let moved = knowledge.delete_folder(ask.account(), ask.id).await?;
    reply::ok(&FolderDeletion {
        id: ask.id,
        deleted: true,
        documents_moved_to_root: moved,
    })
}

/// `POST /v1/knowledge/search`
async fn search(ask: Ask<KnowledgeRead, (), (), Json>) -> Reply {
    let knowledge = ask.services().knowledge();
    let hits = knowledge.search(ask.account(), &ask.body).await?;
    reply::ok(&Hits::from(&hits))
}
