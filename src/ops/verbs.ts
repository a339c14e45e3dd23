import { graphAdoptVerb } from './queue/adopt-verb.ts';
import { blobsListVerb, blobsShowVerb, objectsShowVerb } from './sessions/blob-verbs.ts';
import { neighboursVerb } from './letters/neighbour-verb.ts';
import { queriesListVerb, queriesShowVerb } from './graph/query-verbs.ts';
import { sessionSummaryVerb } from './sessions/session-summary-verb.ts';
import { whoamiVerb } from './daemon/whoami-verb.ts';
import { backupCreateVerb } from './keeping/backup-verb.ts';
import { auditListVerb } from './daemon/audit-verbs.ts';
import { configReloadVerb, configShowVerb } from './daemon/config-verbs.ts';
import { queueCompactAllVerb, queueCompactVerb } from './queue/compact-verbs.ts';
import {
  deadDiscardVerb,
  deadEditVerb,
  deadRequeueSelectionVerb,
  deadRequeueSessionVerb,
  deadRequeueVerb,
} from './letters/dead-act-verbs.ts';
import { deadExportVerb } from './letters/dead-export-verb.ts';
import {
  deadGroupsVerb,
  deadListVerb,
  deadOfSessionVerb,
  deadShowVerb,
} from './letters/dead-verbs.ts';
import {
  graphCheckVerb,
  graphDigestVerb,
  graphExportVerb,
  graphQueryVerb,
  graphStatsVerb,
} from './graph/graph-verbs.ts';
import {
  jobsCancelVerb,
  jobsListVerb,
  jobsPauseVerb,
  jobsResultsVerb,
  jobsResumeVerb,
  jobsShowVerb,
} from './daemon/job-verbs.ts';
import {
  quarantineClearVerb,
  quarantineListVerb,
  quarantineShowVerb,
} from './queue/quarantine-verbs.ts';
import { queueRecoverVerb, queueReplayVerb } from './queue/recover-verbs.ts';
import { deadWriteOffVerb } from './letters/write-off-verb.ts';
import { cypherVerb, graphCypherVerb } from './graph/cypher-verbs.ts';
import {
  queuesDeadListVerb,
  queuesPurgeVerb,
  queuesReplayVerb,
} from './daemon/predecessor-verbs.ts';
import { sessionsListVerb, sessionsShowVerb } from './sessions/session-verbs.ts';
import { sessionsDeleteVerb } from './sessions/session-delete-verb.ts';
import { sessionsPruneVerb } from './sessions/session-prune-verb.ts';
import { limitsVerb, statusVerb, versionVerb, waitVerb } from './daemon/status-verbs.ts';
import { streamVerb } from './daemon/stream-verb.ts';
import { tokensAddVerb, tokensListVerb, tokensRevokeVerb } from './daemon/token-verbs.ts';
import { retentionRunVerb, retentionShowVerb } from './keeping/retention-verbs.ts';
import { vacuumVerb } from './keeping/vacuum-verb.ts';
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
