//! The tables of both databases. A parity test compares them with both migration folders.

use diesel::{allow_tables_to_appear_in_same_query, joinable, table};

/// Declares tables with this crate's column types in scope.
macro_rules! tables {
    ($($(#[$meta:meta])* $name:ident ($($key:ident),+) { $($columns:tt)* })+) => {
        $(table! {
            use diesel::sql_types::*;
            use crate::sql;

            $(#[$meta])*
            $name ($($key),+) { $($columns)* }
        })+
    };
}

tables! {
    service_settings (name) {
        name -> Text,
        value -> Text,
    }

    nodes (id) {
        id -> sql::Uuid,
        has_redis -> Bool,
        started_at -> sql::Instant,
        lease_expires_at -> sql::Instant,
        redis_id -> Nullable<Text>,
    }

    open_streams (key_id, node_id) {
        key_id -> sql::Uuid,
        node_id -> sql::Uuid,
        streams -> Integer,
    }

    trial_days (account_id) {
        account_id -> sql::Uuid,
        day -> Integer,
        replies -> Integer,
        seconds -> Integer,
        tests -> Integer,
    }

    scenarios (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        agent_id -> sql::Uuid,
        name -> Text,
        suite -> Nullable<Text>,
        definition -> Text,
        created_at -> sql::Instant,
        updated_at -> sql::Instant,
    }

    test_runs (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        agent_id -> sql::Uuid,
        version -> Integer,
        status -> sql::Word,
        total -> Integer,
        passed -> Integer,
        failed -> Integer,
        created_at -> sql::Instant,
        deadline_at -> sql::Instant,
        ended_at -> Nullable<sql::Instant>,
    }

    test_results (run_id, place) {
        run_id -> sql::Uuid,
        place -> Integer,
        agent_id -> sql::Uuid,
        name -> Text,
        scenario -> Text,
        content -> Text,
        status -> sql::Word,
        detail -> Text,
        created_at -> sql::Instant,
    }

    accounts (id) {
        id -> sql::Uuid,
        name -> Text,
        plan -> sql::Word,
        engine_module -> Nullable<Bool>,
        created_at -> sql::Instant,
        dialing_rules -> Nullable<Text>,
        has_suppressions -> Bool,
        has_own_keys -> Bool,
    }

    suppressions (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        number -> sql::Word,
        reason -> Text,
        source -> sql::Word,
        until -> Nullable<sql::Instant>,
        conversation_id -> Nullable<sql::Uuid>,
        created_at -> sql::Instant,
    }

    account_settings (account_id) {
        account_id -> sql::Uuid,
        time_zone -> Text,
        keeps_error_bodies -> Bool,
        alert_credits -> Nullable<BigInt>,
        alert_credits_2 -> Nullable<BigInt>,
        alert_credits_3 -> Nullable<BigInt>,
        alert_balance -> Nullable<BigInt>,
        invoice_name -> Text,
        invoice_address -> Text,
        invoice_tax_id -> Text,
    }

    members (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        name -> Text,
        email -> sql::Word,
        role -> sql::Word,
        joined_at -> sql::Instant,
    }

    api_keys (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        name -> Text,
        prefix -> Text,
        digest -> Binary,
        scopes -> sql::Word,
        read_only -> Bool,
        monthly_credit_budget -> Nullable<BigInt>,
        created_at -> sql::Instant,
        expires_at -> Nullable<sql::Instant>,
        last_used_at -> Nullable<sql::Instant>,
        revoked_at -> Nullable<sql::Instant>,
    }

    key_budgets (key_id, month) {
        key_id -> sql::Uuid,
        month -> Integer,
        spent -> BigInt,
        reserved -> BigInt,
    }

    wallets (account_id) {
        account_id -> sql::Uuid,
        balance -> BigInt,
        reserved -> BigInt,
        last_seq -> BigInt,
        last_entry_at -> Nullable<sql::Instant>,
        refill_threshold -> Nullable<BigInt>,
        refill_credits -> Nullable<BigInt>,
        refill_cents -> Nullable<BigInt>,
    }

    agents (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        runtime -> sql::Word,
        name -> Text,
        name_folded -> Text,
        language -> Text,
        status -> sql::Word,
        provider_agent_id -> Nullable<Text>,
        legacy_config -> Nullable<sql::Json>,
        head_version -> Integer,
        published_version -> Integer,
        created_at -> sql::Instant,
        updated_at -> sql::Instant,
    }

    agent_versions (agent_id, version) {
        agent_id -> sql::Uuid,
        version -> Integer,
        config -> sql::Json,
        created_at -> sql::Instant,
        published_at -> Nullable<sql::Instant>,
        note -> Nullable<Text>,
        settings -> Nullable<sql::Json>,
        saved_by -> Nullable<Text>,
        published_by -> Nullable<Text>,
    }

    knowledge_folders (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        name -> Text,
        name_folded -> Text,
        documents_count -> Integer,
        created_at -> sql::Instant,
        updated_at -> sql::Instant,
    }

    knowledge_documents (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        folder_id -> Nullable<sql::Uuid>,
        name -> Text,
        name_folded -> Text,
        source -> sql::Word,
        mime_type -> Nullable<Text>,
        url -> Nullable<Text>,
        size_bytes -> Nullable<BigInt>,
        content_hash -> Nullable<Binary>,
        chunks_count -> Integer,
        status -> sql::Word,
        error -> Nullable<Text>,
        tries -> Integer,
        claim_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
        created_at -> sql::Instant,
        updated_at -> sql::Instant,
    }

    knowledge_uploads (document_id) {
        document_id -> sql::Uuid,
        content -> Binary,
    }

    knowledge_passages (document_id, ordinal) {
        document_id -> sql::Uuid,
        ordinal -> Integer,
        repeats -> Integer,
        content -> Text,
    }

    knowledge_postings (account_id, term, document_id) {
        account_id -> sql::Uuid,
        term -> Text,
        document_id -> sql::Uuid,
        places -> Text,
    }

    knowledge_pins (agent_id, version, document_id) {
        agent_id -> sql::Uuid,
        version -> Integer,
        document_id -> sql::Uuid,
        content_hash -> Nullable<Binary>,
    }

    knowledge_gone (document_id) {
        document_id -> sql::Uuid,
        account_id -> sql::Uuid,
        deleted_at -> sql::Instant,
    }

    knowledge_turns (work, account_id) {
        work -> Text,
        account_id -> sql::Uuid,
        turn -> BigInt,
    }

    knowledge_embedding_jobs (document_id) {
        document_id -> sql::Uuid,
        account_id -> sql::Uuid,
        model -> Text,
        tries -> Integer,
        error -> Nullable<Text>,
        claim_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
    }

    knowledge_embeddings (document_id, model, ordinal) {
        document_id -> sql::Uuid,
        model -> Text,
        ordinal -> Integer,
        dimension -> Integer,
        vectors -> Binary,
    }

    knowledge_embedded (document_id) {
        document_id -> sql::Uuid,
        account_id -> sql::Uuid,
        model -> Text,
        passages -> Integer,
    }

    #[sql_name = "conversations"]
    conversations_columns (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        agent_id -> sql::Uuid,
        agent_ref -> Text,
        agent_version -> Integer,
        key_id -> Nullable<sql::Uuid>,
        runtime -> sql::Word,
        channel -> Nullable<sql::Word>,
        voice -> Bool,
        state -> sql::Word,
        status -> sql::Word,
        from_number -> Nullable<sql::Word>,
        to_number -> Nullable<sql::Word>,
        customer_phone -> Nullable<sql::Word>,
        metadata -> sql::Json,
        price_millicredits -> BigInt,
        started_at -> sql::Instant,
        queued_at -> sql::Instant,
        answered_at -> Nullable<sql::Instant>,
        ended_at -> Nullable<sql::Instant>,
        duration_seconds -> Nullable<BigInt>,
        credits -> Nullable<BigInt>,
        summary -> Nullable<Text>,
        has_audio -> Bool,
        termination_reason -> Nullable<sql::Word>,
        failure_reason -> Nullable<sql::Word>,
        messages_count -> Integer,
        last_seq -> Integer,
        hangup_requested -> Bool,
        claim_id -> Nullable<sql::Uuid>,
        node_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
    }
}

/// A table with more columns than the 32 that diesel's traits are compiled for: with 64, compiling them takes four
/// times as long.
macro_rules! more_columns {
    ($name:literal, $table:ident { $($column:ident -> $type:ty,)* }) => {
        pub(crate) use super::$table::*;
        use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
        use diesel::query_builder::{AstPass, QueryFragment, QueryId};
        use diesel::sql_types::{Bool, Integer, Nullable, Text};
        use crate::sql;
        $(
            #[derive(Debug, Clone, Copy, QueryId)]
            pub struct $column;

            impl Expression for $column {
                type SqlType = $type;
            }

            impl ValidGrouping<()> for $column {
                type IsAggregate = is_aggregate::No;
            }

            impl<QS> AppearsOnTable<QS> for $column where id: AppearsOnTable<QS> {}

            impl<QS> SelectableExpression<QS> for $column where id: SelectableExpression<QS> {}

            impl<DB: diesel::backend::Backend> QueryFragment<DB> for $column {
                fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> diesel::QueryResult<()> {
                    out.push_identifier($name)?;
                    out.push_sql(".");
                    out.push_identifier(stringify!($column))
                }
            }

            impl diesel::Column for $column {
                type Table = table;
                const NAME: &'static str = stringify!($column);
            }
        )*
    };
}

#[expect(non_camel_case_types, reason = "as diesel names columns")]
#[expect(unreachable_pub, reason = "no public record has every column")]
pub(crate) mod conversations {
    more_columns! {
        "conversations", conversations_columns {
            latency_turns -> Nullable<Integer>,
            latency_p50_ms -> Nullable<Integer>,
            latency_p95_ms -> Nullable<Integer>,
            dialog -> Nullable<Text>,
            simulated -> Bool,
            outcome -> Nullable<sql::Word>,
            rang_at -> Nullable<sql::Instant>,
            carrier_status -> Nullable<Integer>,
            consent -> Nullable<Text>,
            blocked_by -> Nullable<sql::Word>,
            opted_out -> Bool,
            forgotten -> Bool,
            campaign_id -> Nullable<sql::Uuid>,
            dial_window -> Nullable<Text>,
        }
    }
}

tables! {
    conversation_moments (conversation_id, seq) {
        conversation_id -> sql::Uuid,
        seq -> Integer,
        at -> sql::Instant,
        state -> Nullable<sql::Word>,
        role -> Nullable<Text>,
        content -> Nullable<Text>,
        duration_ms -> Nullable<Integer>,
        interrupted -> Nullable<Bool>,
        latency -> Nullable<Text>,
        source -> Nullable<Text>,
    }

    idempotency_keys (account_id, operation, idempotency_key) {
        account_id -> sql::Uuid,
        operation -> Text,
        idempotency_key -> Text,
        fingerprint -> Binary,
        status -> Integer,
        location -> Text,
        body -> Binary,
        created_at -> sql::Instant,
        expires_at -> sql::Instant,
    }

    reservations (conversation_id) {
        conversation_id -> sql::Uuid,
        account_id -> sql::Uuid,
        key_id -> Nullable<sql::Uuid>,
        month -> Integer,
        credits -> BigInt,
    }

    ledger (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        seq -> BigInt,
        #[sql_name = "type"]
        kind -> sql::Word,
        amount_credits -> BigInt,
        balance_after_credits -> BigInt,
        description -> Text,
        conversation_id -> Nullable<sql::Uuid>,
        created_at -> sql::Instant,
        invoice_id -> Nullable<sql::Uuid>,
    }

    events (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        conversation_id -> Nullable<sql::Uuid>,
        #[sql_name = "type"]
        kind -> sql::Word,
        body -> Binary,
        created_at -> sql::Instant,
    }

    webhook_endpoints (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        url -> Text,
        description -> Nullable<Text>,
        status -> sql::Word,
        disabled_reason -> Nullable<Text>,
        created_at -> sql::Instant,
        updated_at -> sql::Instant,
        deleted_at -> Nullable<sql::Instant>,
        events -> Nullable<sql::Word>,
    }

    webhook_secrets (id) {
        id -> sql::Uuid,
        endpoint_id -> sql::Uuid,
        prefix -> Text,
        sealed -> Binary,
        created_at -> sql::Instant,
        expires_at -> Nullable<sql::Instant>,
    }

    webhook_endpoint_health (endpoint_id) {
        endpoint_id -> sql::Uuid,
        first_failure_at -> Nullable<sql::Instant>,
        exhausted_count -> Integer,
    }

    deliveries (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        endpoint_id -> sql::Uuid,
        event_id -> sql::Uuid,
        event_type -> sql::Word,
        waits_for -> Nullable<sql::Uuid>,
        state -> sql::Word,
        attempts_count -> Integer,
        abandoned_count -> Integer,
        next_attempt_at -> Nullable<sql::Instant>,
        claim_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
        created_at -> sql::Instant,
    }

    resends (delivery_id) {
        delivery_id -> sql::Uuid,
        endpoint_id -> sql::Uuid,
        bulk -> Bool,
        requested_at -> sql::Instant,
        claim_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
    }

    attempts (id) {
        id -> sql::Uuid,
        delivery_id -> sql::Uuid,
        number -> Integer,
        at -> sql::Instant,
        outcome -> sql::Word,
        status_code -> Nullable<Integer>,
        duration_ms -> Nullable<Integer>,
        error -> Nullable<Text>,
        response_snippet -> Nullable<Text>,
    }

    audit_log (id) {
        id -> sql::Uuid,
        account_id -> Nullable<sql::Uuid>,
        actor -> Text,
        action -> Text,
        target -> Text,
        at -> sql::Instant,
        changes -> Nullable<sql::Json>,
    }

    phone_numbers (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        phone_number -> sql::Word,
        label -> Text,
        provider -> sql::Word,
        agent_id -> Nullable<sql::Uuid>,
        created_at -> sql::Instant,
        updated_at -> sql::Instant,
        is_proven -> Bool,
        at_legacy -> Bool,
        by_credential -> Bool,
    }

    provider_credentials (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        provider -> sql::Word,
        sealed -> Binary,
        created_at -> sql::Instant,
        updated_at -> sql::Instant,
        next_sync_at -> sql::Instant,
        asked_at -> Nullable<sql::Instant>,
        last_error -> Nullable<Text>,
        last_characters -> Nullable<Text>,
    }

    request_logs (account_id, created_at, id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        request_id -> sql::Uuid,
        key_id -> sql::Uuid,
        key_prefix -> Text,
        method -> Text,
        path -> Text,
        status -> Integer,
        status_class -> Integer,
        error -> Nullable<Text>,
        ip -> Text,
        duration_ms -> Integer,
        created_at -> sql::Instant,
        resource -> Nullable<sql::Word>,
        resource_id -> Nullable<sql::Uuid>,
    }

    request_log_faults (account_id, created_at, id) {
        account_id -> sql::Uuid,
        created_at -> sql::Instant,
        id -> sql::Uuid,
        message -> Text,
    }

    request_log_bodies (account_id, created_at, id) {
        account_id -> sql::Uuid,
        created_at -> sql::Instant,
        id -> sql::Uuid,
        body -> Text,
    }

    legacy_agents (agent_id) {
        agent_id -> sql::Uuid,
        account_id -> sql::Uuid,
        seen_name -> Text,
        gone -> Bool,
    }

    legacy_reports (account_id, provider_call_id, kind) {
        account_id -> sql::Uuid,
        provider_call_id -> Text,
        kind -> Text,
        conversation_id -> Nullable<sql::Uuid>,
        failure_reason -> Nullable<sql::Word>,
        received_at -> sql::Instant,
    }

    batch_calls (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        name -> Text,
        agent_id -> sql::Uuid,
        phone_number_id -> Nullable<sql::Uuid>,
        key_id -> Nullable<sql::Uuid>,
        status -> sql::Word,
        paused_reason -> Nullable<sql::Word>,
        scheduled_at -> Nullable<sql::Instant>,
        total -> Integer,
        pending -> Integer,
        dialing -> Integer,
        completed -> Integer,
        failed -> Integer,
        cancelled -> Integer,
        created_at -> sql::Instant,
        started_at -> Nullable<sql::Instant>,
        ended_at -> Nullable<sql::Instant>,
        look_at -> sql::Instant,
    }

    jobs (name) {
        name -> Text,
        holder -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
        due_at -> sql::Instant,
    }

    campaigns (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        name -> Text,
        agent_id -> sql::Uuid,
        phone_number_id -> Nullable<sql::Uuid>,
        key_id -> Nullable<sql::Uuid>,
        status -> sql::Word,
        paused_reason -> Nullable<sql::Word>,
        settings -> Text,
        total -> Integer,
        pending -> Integer,
        dialing -> Integer,
        reached -> Integer,
        unreached -> Integer,
        blocked -> Integer,
        outcomes -> Text,
        seconds -> BigInt,
        credits -> BigInt,
        judged_calls -> Integer,
        judged_failures -> Integer,
        paced_at -> sql::Instant,
        created_at -> sql::Instant,
        started_at -> Nullable<sql::Instant>,
        ended_at -> Nullable<sql::Instant>,
        look_at -> sql::Instant,
    }

    campaign_recipients (id) {
        id -> sql::Uuid,
        campaign_id -> sql::Uuid,
        account_id -> sql::Uuid,
        place -> Integer,
        number -> sql::Word,
        name -> Text,
        variables -> sql::Json,
        time_zone -> Nullable<Text>,
        consent -> Nullable<Text>,
        status -> sql::Word,
        outcome -> Nullable<sql::Word>,
        blocked_by -> Nullable<sql::Word>,
        attempts -> Integer,
        has_message -> Bool,
        callback_at -> Nullable<sql::Instant>,
        next_at -> sql::Instant,
        conversation_id -> Nullable<sql::Uuid>,
        updated_at -> sql::Instant,
    }

    batch_recipients (id) {
        id -> sql::Uuid,
        batch_id -> sql::Uuid,
        place -> Integer,
        to_number -> sql::Word,
        metadata -> sql::Json,
        status -> sql::Word,
        attempt -> Integer,
        conversation_id -> Nullable<sql::Uuid>,
        failure_reason -> Nullable<sql::Word>,
    }

    retention_windows (account_id) {
        account_id -> sql::Uuid,
        days -> Nullable<Integer>,
        held_days -> Nullable<Integer>,
        held_until -> Nullable<sql::Instant>,
    }

    batch_tries (recipient_id, attempt) {
        recipient_id -> sql::Uuid,
        attempt -> Integer,
        conversation_id -> sql::Uuid,
    }

    account_seats (account_id) {
        account_id -> sql::Uuid,
        members -> BigInt,
    }

    invitations (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        name -> Text,
        email -> sql::Word,
        role -> sql::Word,
        digest -> Binary,
        created_at -> sql::Instant,
        expires_at -> sql::Instant,
    }

    integration_consents (id) {
        id -> sql::Uuid,
        digest -> Binary,
        session_digest -> Binary,
        account_id -> sql::Uuid,
        toolkit -> Text,
        sealed -> Binary,
        expires_at -> sql::Instant,
    }

    integration_connections (account_id, toolkit) {
        account_id -> sql::Uuid,
        toolkit -> Text,
        status -> sql::Word,
        connected_at -> Nullable<sql::Instant>,
        last_error -> Nullable<Text>,
        id -> sql::Uuid,
        sealed -> Nullable<Binary>,
        lapses_at -> Nullable<sql::Instant>,
        claim_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
    }

    tools (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        name -> Text,
        definition -> sql::Json,
        headers -> Nullable<Binary>,
        revision -> Integer,
        created_at -> sql::Instant,
        updated_at -> sql::Instant,
    }

    agent_version_tools (agent_id, version, position) {
        agent_id -> sql::Uuid,
        version -> Integer,
        position -> Integer,
        tool_id -> sql::Uuid,
        definition -> sql::Json,
        headers -> Nullable<Binary>,
    }

    voices (provider, voice_id) {
        provider -> sql::Word,
        voice_id -> Text,
        name -> Text,
        gender -> Nullable<sql::Word>,
        age -> Nullable<Text>,
        accent -> Nullable<Text>,
        language -> Nullable<Text>,
        languages -> sql::Json,
        locales -> sql::Json,
        description -> Nullable<Text>,
        use_case -> Nullable<Text>,
        preview_url -> Nullable<Text>,
        model_compat -> sql::Json,
        source -> sql::Word,
        owner_id -> Nullable<Text>,
    }

    account_voices (account_id, provider, voice_id) {
        account_id -> sql::Uuid,
        provider -> sql::Word,
        voice_id -> Text,
        voice -> sql::Json,
    }

    lost_account_voices (account_id, provider, voice_id) {
        account_id -> sql::Uuid,
        provider -> sql::Word,
        voice_id -> Text,
    }

    invoices (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        month -> Integer,
        number -> Text,
        status -> sql::Word,
        amount_cents -> BigInt,
        lines_count -> Integer,
        created_at -> sql::Instant,
        issued_at -> Nullable<sql::Instant>,
    }

    invoice_lines (invoice_id, position) {
        invoice_id -> sql::Uuid,
        position -> Integer,
        ledger_id -> Nullable<sql::Uuid>,
        description -> Text,
        credits -> Nullable<BigInt>,
        amount_cents -> BigInt,
        created_at -> sql::Instant,
    }

    account_months (account_id, month) {
        account_id -> sql::Uuid,
        month -> Integer,
        credits -> BigInt,
        entered_at -> sql::Instant,
    }

    billing_alarms (account_id, month, kind, credits) {
        account_id -> sql::Uuid,
        month -> Integer,
        kind -> sql::Word,
        credits -> BigInt,
        passed_at -> sql::Instant,
    }

    usage_days (account_id, day) {
        account_id -> sql::Uuid,
        day -> Integer,
        calls -> BigInt,
        conversations -> BigInt,
        duration_seconds -> BigInt,
        credits -> BigInt,
    }

    // Nothing reads or writes it. The version before does, which may run beside this one.
    usage_hours (account_id, hour) {
        account_id -> sql::Uuid,
        hour -> Integer,
        calls -> BigInt,
        failed -> BigInt,
        answered -> BigInt,
    }

    widgets (agent_id) {
        agent_id -> sql::Uuid,
        account_id -> sql::Uuid,
        enabled -> Bool,
        max_sessions_per_minute -> Integer,
        daily_credit_cap -> Nullable<BigInt>,
        minute -> BigInt,
        minute_sessions -> Integer,
        day -> Integer,
        day_credits -> BigInt,
    }

    widget_origins (agent_id, origin) {
        agent_id -> sql::Uuid,
        origin -> Text,
        position -> Integer,
    }

    chat_sessions (conversation_id) {
        conversation_id -> sql::Uuid,
        account_id -> sql::Uuid,
        agent_id -> sql::Uuid,
        origin -> Text,
        token_digest -> Binary,
        token_expires_at -> sql::Instant,
        is_open -> Bool,
        is_settled -> Bool,
        active_at -> sql::Instant,
        held_day -> Integer,
        answers -> Integer,
        claim_id -> Nullable<sql::Uuid>,
        node_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
        tools_at_work -> Nullable<Text>,
    }

    chat_messages (conversation_id, message_id) {
        conversation_id -> sql::Uuid,
        message_id -> Text,
        digest -> Binary,
        seq -> Integer,
        answered_seq -> Nullable<Integer>,
    }

    people (email) {
        email -> sql::Word,
        password -> Text,
        changed_at -> sql::Instant,
        by_invitation -> Bool,
    }

    portal_sessions (digest) {
        digest -> Binary,
        email -> sql::Word,
        account_id -> sql::Uuid,
        member_id -> sql::Uuid,
        created_at -> sql::Instant,
        seen_at -> sql::Instant,
        by_single_sign_on -> Bool,
    }

    single_sign_on (account_id) {
        account_id -> sql::Uuid,
        id -> sql::Uuid,
        issuer -> Text,
        client_id -> Text,
        sealed -> Binary,
        email_domain -> Nullable<Text>,
        is_required -> Bool,
        creates_viewers -> Bool,
        updated_at -> sql::Instant,
    }

    second_factors (email) {
        email -> sql::Word,
        id -> sql::Uuid,
        sealed -> Binary,
        last_step -> BigInt,
        begun_at -> sql::Instant,
    }

    recovery_codes (email, digest) {
        email -> sql::Word,
        digest -> Binary,
    }

    half_sign_ins (digest) {
        digest -> Binary,
        email -> sql::Word,
        account_id -> sql::Uuid,
        changed_at -> sql::Instant,
        expires_at -> sql::Instant,
    }

    passkeys (id) {
        id -> sql::Uuid,
        email -> sql::Word,
        credential_id -> Binary,
        user_handle -> Binary,
        name -> Text,
        credential -> Text,
        created_at -> sql::Instant,
        used_at -> Nullable<sql::Instant>,
    }

    passkey_challenges (digest) {
        digest -> Binary,
        source -> Binary,
        state -> Text,
        expires_at -> sql::Instant,
    }

    portal_shown_once (session_digest, id) {
        session_digest -> Binary,
        id -> sql::Uuid,
        sealed -> Binary,
        expires_at -> sql::Instant,
    }

    sign_in_links (digest) {
        digest -> Binary,
        email -> sql::Word,
        account_id -> sql::Uuid,
        created_at -> sql::Instant,
        expires_at -> sql::Instant,
    }

    sign_in_failures (digest) {
        digest -> Binary,
        failures -> Integer,
        blocked_until -> Nullable<sql::Instant>,
        ends_at -> sql::Instant,
    }

    whatsapp_threads (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        own_number -> sql::Word,
        customer -> sql::Word,
        phone_number_id -> Text,
        conversation_id -> Nullable<sql::Uuid>,
        told_in -> Nullable<sql::Uuid>,
        heard_at -> sql::Instant,
        due_at -> Nullable<sql::Instant>,
        claim_id -> Nullable<sql::Uuid>,
        node_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
    }

    analysis_schemas (agent_id, revision) {
        agent_id -> sql::Uuid,
        revision -> Integer,
        definition -> Nullable<sql::Json>,
        created_at -> sql::Instant,
    }

    agent_secrets (agent_id) {
        agent_id -> sql::Uuid,
        sealed -> Binary,
    }

    conversation_contexts (conversation_id) {
        conversation_id -> sql::Uuid,
        at -> sql::Instant,
        took_ms -> Integer,
        result -> sql::Word,
        detail -> Text,
    }

    conversation_notes (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        conversation_id -> sql::Uuid,
        member_id -> sql::Uuid,
        author -> Text,
        text -> Text,
        created_at -> sql::Instant,
    }

    conversation_tags (conversation_id, tag) {
        conversation_id -> sql::Uuid,
        tag -> Text,
        account_id -> sql::Uuid,
    }

    saved_views (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        member_id -> sql::Uuid,
        name -> Text,
        query -> Text,
    }

    conversation_analyses (conversation_id) {
        conversation_id -> sql::Uuid,
        account_id -> sql::Uuid,
        agent_id -> sql::Uuid,
        revision -> Integer,
        status -> sql::Word,
        data -> Nullable<sql::Json>,
        error -> Nullable<Text>,
        completed_at -> Nullable<sql::Instant>,
        tries -> Integer,
        claim_id -> Nullable<sql::Uuid>,
        lease_expires_at -> Nullable<sql::Instant>,
    }

    whatsapp_received (account_id, wamid) {
        account_id -> sql::Uuid,
        wamid -> Text,
        thread_id -> sql::Uuid,
        kind -> Text,
        content -> Nullable<Text>,
        sent_at -> sql::Instant,
        received_at -> sql::Instant,
        is_waiting -> Bool,
        due_at -> sql::Instant,
        tries -> Integer,
    }

    whatsapp_sent (id) {
        id -> sql::Uuid,
        account_id -> sql::Uuid,
        thread_id -> sql::Uuid,
        conversation_id -> sql::Uuid,
        answers -> Text,
        part -> Integer,
        content -> Nullable<Text>,
        status -> sql::Word,
        wamid -> Nullable<Text>,
        failure -> Nullable<Text>,
        tries -> Integer,
        queued_at -> sql::Instant,
        due_at -> sql::Instant,
        updated_at -> sql::Instant,
    }
}

joinable!(api_keys -> accounts (account_id));
joinable!(attempts -> deliveries (delivery_id));
joinable!(conversation_analyses -> conversations (conversation_id));
joinable!(conversations -> agents (agent_id));
joinable!(deliveries -> events (event_id));
joinable!(deliveries -> webhook_endpoints (endpoint_id));
joinable!(legacy_agents -> agents (agent_id));
joinable!(members -> accounts (account_id));
joinable!(open_streams -> nodes (node_id));
joinable!(retention_windows -> accounts (account_id));

allow_tables_to_appear_in_same_query! {
    accounts, account_months, api_keys, members, retention_windows, single_sign_on
}
allow_tables_to_appear_in_same_query! { accounts, agents, agent_versions, legacy_agents, phone_numbers }
allow_tables_to_appear_in_same_query! { agents, agent_version_tools }
allow_tables_to_appear_in_same_query! {
    agents, conversations, conversation_analyses, conversation_moments, conversation_tags, reservations
}
allow_tables_to_appear_in_same_query! { agents, knowledge_pins }
allow_tables_to_appear_in_same_query! { attempts, deliveries, events, webhook_endpoints, webhook_secrets }
allow_tables_to_appear_in_same_query! {
    knowledge_documents, knowledge_embedded, knowledge_passages, knowledge_pins, knowledge_postings
}
allow_tables_to_appear_in_same_query! { open_streams, nodes }
allow_tables_to_appear_in_same_query! { request_log_bodies, request_log_faults }
allow_tables_to_appear_in_same_query! { whatsapp_received, whatsapp_threads }
allow_tables_to_appear_in_same_query! { widgets, widget_origins }
