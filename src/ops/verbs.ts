import { graphAdoptVerb } from './adopt-verb.ts';
import { blobsListVerb, blobsShowVerb, objectsShowVerb } from './blob-verbs.ts';
import { neighboursVerb } from './neighbour-verb.ts';
import { queriesListVerb, queriesShowVerb } from './query-verbs.ts';
import { sessionSummaryVerb } from './session-summary-verb.ts';
import { whoamiVerb } from './whoami-verb.ts';
import { backupCreateVerb } from './backup-verb.ts';
import { auditListVerb } from './audit-verbs.ts';
import { configReloadVerb, configShowVerb } from './config-verbs.ts';
import { queueCompactAllVerb, queueCompactVerb } from './compact-verbs.ts';
import {
  deadDiscardVerb,
  deadEditVerb,
  deadRequeueSelectionVerb,
  deadRequeueSessionVerb,
  deadRequeueVerb,
} from './dead-act-verbs.ts';
import { deadExportVerb } from './dead-export-verb.ts';
import { deadGroupsVerb, deadListVerb, deadOfSessionVerb, deadShowVerb } from './dead-verbs.ts';
import {
  graphCheckVerb,
  graphDigestVerb,
  graphExportVerb,
  graphQueryVerb,
  graphStatsVerb,
} from './graph-verbs.ts';
import {
  jobsCancelVerb,
  jobsListVerb,
  jobsPauseVerb,
  jobsResultsVerb,
  jobsResumeVerb,
  jobsShowVerb,
} from './job-verbs.ts';
import { quarantineClearVerb, quarantineListVerb, quarantineShowVerb } from './quarantine-verbs.ts';
import { queueRecoverVerb, queueReplayVerb } from './recover-verbs.ts';
import { deadWriteOffVerb } from './write-off-verb.ts';
import { cypherVerb, graphCypherVerb } from './cypher-verbs.ts';
import { queuesDeadListVerb, queuesPurgeVerb, queuesReplayVerb } from './predecessor-verbs.ts';
import { sessionsListVerb, sessionsShowVerb } from './session-verbs.ts';
import { sessionsDeleteVerb } from './session-delete-verb.ts';
import { sessionsPruneVerb } from './session-prune-verb.ts';
import { limitsVerb, statusVerb, versionVerb, waitVerb } from './status-verbs.ts';
import { streamVerb } from './stream-verb.ts';
import { tokensAddVerb, tokensListVerb, tokensRevokeVerb } from './token-verbs.ts';
import { retentionRunVerb, retentionShowVerb } from './retention-verbs.ts';
import { vacuumVerb } from './vacuum-verb.ts';
import type { Verb } from './verb.ts';

/** Every operator verb, once (the HTTP routes and the command line are made from this list). */
export const verbs: readonly Verb[] = [
  statusVerb,
  waitVerb,
  versionVerb,
  limitsVerb,
  whoamiVerb,
  sessionsListVerb,
  sessionsShowVerb,
  sessionsDeleteVerb,
  sessionsPruneVerb,
  retentionShowVerb,
  retentionRunVerb,
  sessionSummaryVerb,
  queriesListVerb,
  queriesShowVerb,
  graphQueryVerb,
  graphCypherVerb,
  graphDigestVerb,
  neighboursVerb,
  objectsShowVerb,
  graphStatsVerb,
  graphCheckVerb,
  graphExportVerb,
  graphAdoptVerb,
  backupCreateVerb,
  deadListVerb,
  deadGroupsVerb,
  deadExportVerb,
  deadOfSessionVerb,
  deadShowVerb,
  deadRequeueVerb,
  deadRequeueSelectionVerb,
  deadRequeueSessionVerb,
  deadEditVerb,
  deadDiscardVerb,
  jobsListVerb,
  jobsShowVerb,
  jobsResultsVerb,
  jobsCancelVerb,
  jobsPauseVerb,
  jobsResumeVerb,
  quarantineListVerb,
  quarantineShowVerb,
  quarantineClearVerb,
  queueRecoverVerb,
  queueReplayVerb,
  deadWriteOffVerb,
  queueCompactVerb,
  queueCompactAllVerb,
  tokensAddVerb,
  tokensListVerb,
  tokensRevokeVerb,
  auditListVerb,
  streamVerb,
  configShowVerb,
  configReloadVerb,
  vacuumVerb,
  cypherVerb,
  blobsListVerb,
  blobsShowVerb,
  queuesDeadListVerb,
  queuesReplayVerb,
  queuesPurgeVerb,
];
