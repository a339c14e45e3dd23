import { resolve } from 'node:path';
import { copyDependencies, needsJava } from '../neo4j-server.ts';

const tckVersion = '1.0.0-M23';
/** The openCypher TCK as its publisher packs it. Nothing of it is kept in the repository. */
export const tckJars: string = resolve(import.meta.dirname, `../../../.cache/tck-${tckVersion}`);

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>test</groupId><artifactId>test</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency>
<groupId>org.opencypher</groupId><artifactId>tck</artifactId><version>${tckVersion}</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
</dependency></dependencies></project>`;

export function cannotFetchTck(): string | undefined {
  return needsJava() ?? copyDependencies(pom, tckJars);
}
