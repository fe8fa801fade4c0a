//! Voices as their providers listed them.

use offhook_domain::{Voice, VoiceGender, VoiceList, VoiceProvider, VoiceSource};
use offhook_storage::{Store, VoiceChanges};
use offhook_testkit::contract;

use crate::it::shop::{T0, after};

fn voice(provider: VoiceProvider, id: &str) -> Voice {
    Voice {
        provider,
        voice_id: id.to_owned(),
        name: "Ximena".to_owned(),
        gender: Some(VoiceGender::Female),
        age: Some("young".to_owned()),
        accent: Some("mexican".to_owned()),
        language: Some("es".to_owned()),
        languages: vec!["es".to_owned()],
        locales: vec!["es-MX".to_owned(), "a \"b\"".to_owned()],
        description: Some("Calm".to_owned()),
        use_case: Some("support".to_owned()),
        preview_url: Some("https://previews.example.com/1.mp3".to_owned()),
        model_compat: Vec::new(),
        source: VoiceSource::Public,
        owner_id: None,
    }
}

/// Every voice, read in pages of 128.
async fn all_of(store: &Store) -> Vec<Voice> {
    let mut all: Vec<Voice> = Vec::new();
    loop {
        let last = all
            .last()
            .map(|last| (last.provider, last.voice_id.clone()));
        let page = store.voices_behind(last, 128).await.unwrap();
        if page.is_empty() {
            return all;
        }
        assert!(page.len() <= 128);
        all.extend(page);
    }
}

contract! {
    async fn a_providers_voices_are_replaced_and_the_others_stay(store: Store) {
        use VoiceProvider::{A, B};
        assert_eq!(store.voices_generation().await.unwrap(), None);
        let plain = Voice {
            gender: None,
            age: None,
            accent: None,
            language: None,
            description: None,
            use_case: None,
            preview_url: None,
            ..voice(B, "2")
        };
        let first = [voice(A, "z"), voice(A, "a")].into();
        let changes = store.replace_voices(A, first, T0).await.unwrap();
        assert_eq!(changes, VoiceChanges { written: 2, deleted: 0 });
        let one = store.voices_generation().await.unwrap();
        store.replace_voices(B, [plain.clone()].into(), T0).await.unwrap();
        let two = store.voices_generation().await.unwrap();
        assert!(two.is_some() && one != two);

        let renamed = Voice { name: "Zoé".to_owned(), ..voice(A, "z") };
        let next = VoiceList::from([renamed.clone(), voice(A, "n")]);
        let changes = store.replace_voices(A, next.clone(), after(1)).await.unwrap();
        assert_eq!(changes, VoiceChanges { written: 2, deleted: 1 });
        assert_eq!(all_of(&store).await, [voice(A, "n"), renamed, plain]);

        let three = store.voices_generation().await.unwrap();
        let changes = store.replace_voices(A, next, after(2)).await.unwrap();
        assert_eq!(changes, VoiceChanges::default());
        assert_eq!(store.voices_generation().await.unwrap(), three);
    }

    async fn thousands_of_voices_are_read_whole_and_in_order(store: Store) {
        use VoiceProvider::{A, B, C};
        // Some pages are exactly full.
        let of = |provider, count: usize| (0..count).map(|n| voice(provider, &format!("{n:04}"))).collect::<Vec<_>>();
        let all = [of(A, 512), of(B, 1), of(C, 255)];
        for (provider, rows) in [A, B, C].into_iter().zip(all.clone()) {
            store.replace_voices(provider, rows.into_iter().collect(), T0).await.unwrap();
        }
        assert!(all_of(&store).await == all.concat());
    }

    async fn a_shared_voice_that_was_added_is_the_workspaces_and_all_others_stay(store: Store) {
        use VoiceProvider::{A, B};
        let shared = |provider, id| Voice {
            source: VoiceSource::Shared,
            owner_id: Some("owner".to_owned()),
            ..voice(provider, id)
        };
        store.replace_voices(A, [shared(A, "s"), shared(A, "t"), voice(A, "p")].into(), T0).await.unwrap();
        store.replace_voices(B, [shared(B, "s")].into(), T0).await.unwrap();
        let listed = store.voices_generation().await.unwrap();
        for id in ["p", "gone"] {
            store.voice_added(A, id, after(1)).await.unwrap();
        }
        assert_eq!(store.voices_generation().await.unwrap(), listed);
        store.voice_added(A, "s", after(1)).await.unwrap();
        let added = store.voices_generation().await.unwrap();
        assert_ne!(added, listed);
        let ours = Voice { source: VoiceSource::Workspace, ..shared(A, "s") };
        let all = [voice(A, "p"), ours, shared(A, "t"), shared(B, "s")];
        assert_eq!(all_of(&store).await, all);
        store.voice_added(A, "s", after(2)).await.unwrap();
        assert_eq!(store.voices_generation().await.unwrap(), added);
    }
}
