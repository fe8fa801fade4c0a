//! Documents: uploaded, read, moved, deleted; folders; web pages.

use offhook_testkit::files;
use offhook_tests::{both, must};

use super::super::stage::Stage;

deeds! {
    a_file_is_uploaded_into_a_folder_read_and_deleted:
        "/portal/knowledge", "/portal/knowledge/upload", "/portal/knowledge/folders",
        "/portal/knowledge/folders/{id}", "/portal/knowledge/documents/{id}";
    a_web_page_is_taken: "/portal/knowledge/address";
}

both! {
    async fn a_file_is_uploaded_into_a_folder_read_and_deleted(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let folder = must("a folder", tempfile::tempdir());
        let file = folder.path().join("precios.pdf");
        let pdf = files::pdf("The room by the sea costs ninety.");
        must("a file", std::fs::write(&file, pdf));
        let browser = stage.owner(person).await;
        browser.open("/portal/knowledge/folders").await;
        browser.fill(("Name", "Nombre"), "Tarifas").await;
        browser.click(("Create folder", "Crear carpeta")).await;
        browser.sees(("Folder created.", "Carpeta creada.")).await;

        browser.open("/portal/knowledge").await;
        browser.click(("Upload file", "Subir archivo")).await;
        browser.fill(("Name", "Nombre"), "Lista de precios").await;
        browser.choose(("Folder", "Carpeta"), "Tarifas").await;
        // A too large file is refused before it is sent; then another file is accepted.
        let large = folder.path().join("grande.pdf");
        let made = std::fs::File::create(&large);
        must("a file", made.and_then(|file| file.set_len(20 * 1024 * 1024 + 1)));
        browser.attach(("File", "Archivo"), &large).await;
        browser.click(("Upload", "Subir")).await;
        let said = "return document.querySelector('input[type=file]').validationMessage";
        let said = browser.js(said, vec![]).await;
        let too_large = browser.words(&("larger than 20 MiB", "más de 20 MiB"));
        assert!(said.as_str().is_some_and(|said| said.contains(too_large)), "{said}");
        browser.attach(("File", "Archivo"), &file).await;
        browser.click(("Upload", "Subir")).await;
        browser.sees(("Document added.", "Documento agregado.")).await;
        browser.arrives("/portal/knowledge/documents/").await;
        // The page shows that the document was read, without a reload.
        browser.sees("The room by the sea costs ninety.").await;
        browser.sees(("Ready", "Listo")).await;
        browser.axe().await;
        let document = browser.path().await;

        browser.open("/portal/knowledge/folders").await;
        browser.click("Tarifas").await;
        browser.fill(("Name", "Nombre"), "Precios").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Saved.", "Guardado.")).await;
        browser.open("/portal/knowledge").await;
        browser.choose(("Folder", "Carpeta"), "Precios").await;
        browser.click(("Filter", "Filtrar")).await;
        browser.arrives("/portal/knowledge?").await;
        browser.click("Lista de precios").await;
        browser.arrives(&document).await;
        browser.fill(("Name", "Nombre"), "Precios de invierno").await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("Saved.", "Guardado.")).await;
        let made = stage.account.read("/v1/knowledge/documents").await;
        assert_eq!(made["data"][0]["name"], "Precios de invierno", "{made}");
        browser.click(("Delete document", "Eliminar documento")).await;
        browser.agrees().await;
        browser.sees(("Deleted.", "Eliminado.")).await;
        browser.sees(("No documents yet", "Aún no hay documentos")).await;
        browser.no_violations().await;
    }

    async fn a_web_page_is_taken(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let browser = stage.owner(person).await;
        browser.open("/portal/knowledge/address").await;
        browser.fill(("Name", "Nombre"), "Prices").await;
        browser.fill(("URL", "URL"), "http://harbour.example/prices").await;
        browser.click(("Add", "Agregar")).await;
        browser.counts(".refusal", 1).await;
        browser.was_refused(422).await;
        assert_eq!(browser.filled(("Name", "Nombre")).await, "Prices");
        // The host does not exist, and the page will say so later; this test only checks that the document was
        // accepted.
        browser.fill(("URL", "URL"), "https://harbour.invalid/prices").await;
        browser.click(("Add", "Agregar")).await;
        browser.sees(("Document added.", "Documento agregado.")).await;
        browser.sees("https://harbour.invalid/prices").await;
        browser.no_violations().await;
        let made = stage.account.read("/v1/knowledge/documents").await;
        assert_eq!((&made["data"][0]["name"], &made["data"][0]["source"]), (&"Prices".into(), &"url".into()), "{made}");
    }
}
