import { createRequire } from 'node:module';
import type protobuf from 'protobufjs/light.js';

/** The parts of opentelemetry-proto 1.x and google.rpc that a receiver of spans and log records needs, and of metrics what counts them; field numbers as published. */
const keyed = { attributes: { rule: 'repeated', type: 'KeyValue', id: 1 } } as const;

const descriptor = {
  nested: {
    AnyValue: {
      oneofs: {
        value: {
          oneof: [
            'stringValue',
            'boolValue',
            'intValue',
            'doubleValue',
            'arrayValue',
            'kvlistValue',
            'bytesValue',
          ],
        },
      },
      fields: {
        stringValue: { type: 'string', id: 1 },
        boolValue: { type: 'bool', id: 2 },
        intValue: { type: 'int64', id: 3 },
        doubleValue: { type: 'double', id: 4 },
        arrayValue: { type: 'ArrayValue', id: 5 },
        kvlistValue: { type: 'KeyValueList', id: 6 },
        bytesValue: { type: 'bytes', id: 7 },
      },
    },
    ArrayValue: { fields: { values: { rule: 'repeated', type: 'AnyValue', id: 1 } } },
    KeyValueList: { fields: { values: { rule: 'repeated', type: 'KeyValue', id: 1 } } },
    KeyValue: { fields: { key: { type: 'string', id: 1 }, value: { type: 'AnyValue', id: 2 } } },
    Resource: { fields: { ...keyed } },
    InstrumentationScope: {
      fields: {
        name: { type: 'string', id: 1 },
        version: { type: 'string', id: 2 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 3 },
      },
    },
    Status: { fields: { message: { type: 'string', id: 2 }, code: { type: 'int32', id: 3 } } },
    Event: {
      fields: {
        timeUnixNano: { type: 'fixed64', id: 1 },
        name: { type: 'string', id: 2 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 3 },
      },
    },
    Link: {
      fields: {
        traceId: { type: 'bytes', id: 1 },
        spanId: { type: 'bytes', id: 2 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 4 },
      },
    },
    Span: {
      fields: {
        traceId: { type: 'bytes', id: 1 },
        spanId: { type: 'bytes', id: 2 },
        traceState: { type: 'string', id: 3 },
        parentSpanId: { type: 'bytes', id: 4 },
        name: { type: 'string', id: 5 },
        kind: { type: 'int32', id: 6 },
        startTimeUnixNano: { type: 'fixed64', id: 7 },
        endTimeUnixNano: { type: 'fixed64', id: 8 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 9 },
        events: { rule: 'repeated', type: 'Event', id: 11 },
        links: { rule: 'repeated', type: 'Link', id: 13 },
        status: { type: 'Status', id: 15 },
      },
    },
    ScopeSpans: {
      fields: {
        scope: { type: 'InstrumentationScope', id: 1 },
        spans: { rule: 'repeated', type: 'Span', id: 2 },
      },
    },
    ResourceSpans: {
      fields: {
        resource: { type: 'Resource', id: 1 },
        scopeSpans: { rule: 'repeated', type: 'ScopeSpans', id: 2 },
      },
    },
    LogRecord: {
      fields: {
        timeUnixNano: { type: 'fixed64', id: 1 },
        severityNumber: { type: 'int32', id: 2 },
        severityText: { type: 'string', id: 3 },
        body: { type: 'AnyValue', id: 5 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 6 },
        traceId: { type: 'bytes', id: 9 },
        spanId: { type: 'bytes', id: 10 },
        observedTimeUnixNano: { type: 'fixed64', id: 11 },
        eventName: { type: 'string', id: 12 },
      },
    },
    ScopeLogs: {
      fields: {
        scope: { type: 'InstrumentationScope', id: 1 },
        logRecords: { rule: 'repeated', type: 'LogRecord', id: 2 },
      },
    },
    ResourceLogs: {
      fields: {
        resource: { type: 'Resource', id: 1 },
        scopeLogs: { rule: 'repeated', type: 'ScopeLogs', id: 2 },
      },
    },
    TracesRequest: {
      fields: { resourceSpans: { rule: 'repeated', type: 'ResourceSpans', id: 1 } },
    },
    LogsRequest: { fields: { resourceLogs: { rule: 'repeated', type: 'ResourceLogs', id: 1 } } },
    DataPoint: { fields: {} },
    DataPoints: { fields: { dataPoints: { rule: 'repeated', type: 'DataPoint', id: 1 } } },
    Metric: {
      fields: {
        gauge: { type: 'DataPoints', id: 5 },
        sum: { type: 'DataPoints', id: 7 },
        histogram: { type: 'DataPoints', id: 9 },
        exponentialHistogram: { type: 'DataPoints', id: 10 },
        summary: { type: 'DataPoints', id: 11 },
      },
    },
    ScopeMetrics: { fields: { metrics: { rule: 'repeated', type: 'Metric', id: 2 } } },
    ResourceMetrics: {
      fields: { scopeMetrics: { rule: 'repeated', type: 'ScopeMetrics', id: 2 } },
    },
    MetricsRequest: {
      fields: { resourceMetrics: { rule: 'repeated', type: 'ResourceMetrics', id: 1 } },
    },
    PartialSuccess: {
      fields: { rejected: { type: 'int64', id: 1 }, errorMessage: { type: 'string', id: 2 } },
    },
    Response: { fields: { partialSuccess: { type: 'PartialSuccess', id: 1 } } },
    RpcStatus: { fields: { code: { type: 'int32', id: 1 }, message: { type: 'string', id: 2 } } },
  },
};

let root: protobuf.Root | undefined;

export type MessageName =
  | 'TracesRequest'
  | 'LogsRequest'
  | 'MetricsRequest'
  | 'Response'
  | 'RpcStatus';

/** The decoder is loaded with the first message: every start of a program would pay for it, and few need it. */
export function messageType(name: MessageName): protobuf.Type {
  root ??= decoder().Root.fromJSON(descriptor);
  return root.lookupType(name);
}

function decoder(): typeof protobuf {
  return createRequire(import.meta.url)('protobufjs/light.js') as typeof protobuf;
}
